//! A policy as a whole: a model, what its tokens mean, and how it is spoken to.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::PolicyError;
use crate::model::{
    Adapter, AdapterConfig, Decoder, Device, ModelConfig, Parameters, Rounding, SharedBase,
    default_threads, preset, weights,
};
use crate::prompt::{
    Automaton, ChatOptions, ChatTemplate, END, GenerationConfig, PAD, TokenCodec, Tokenizer,
    Wording, check_tokenizer,
};
use crate::sampling::Sampling;
use troupe_core::config::{Dtype, LoraConfig, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_core::storage::{create_folder, write_json};
use troupe_core::trajectory::Message;

/// The file that every checkpoint has.
const CONFIG: &str = "config.json";

/// A language model that can be asked, and with a `Trainer` be trained.
///
/// Can be sent to another thread, but is not shared between threads: the
/// sampler splits its work over [`Policy::set_threads`] threads by itself.
#[derive(Debug)]
pub struct Policy {
    decoder: Decoder,
    /// What this policy adds to weights that it shares with others.
    adapter: Option<Adapter>,
    wording: Wording,
    generation: GenerationConfig,
    threads: usize,
}

impl Policy {
    /// Load a checkpoint in the Hugging Face layout: `config.json`,
    /// `*.safetensors`, `tokenizer.json` and a chat template; with
    /// `generation_config.json` if there is one.
    ///
    /// # Errors
    /// If a file is missing or damaged, the architecture or one of its
    /// options is not supported, or the weights do not fit it.
    pub fn load(folder: &Path, device: Device) -> Result<Policy, PolicyError> {
        Policy::load_in(folder, None, device)
    }

    /// Whether a folder holds a policy or an adapter.
    pub fn is_in(folder: &Path) -> bool {
        let files =
            [CONFIG, "adapter_config.json", "model.safetensors", "adapter_model.safetensors"];
        files.iter().any(|file| folder.join(file).exists())
    }

    /// The same with weights of a given type, whatever the checkpoint has.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn load_in(
        folder: &Path,
        dtype: Option<Dtype>,
        device: Device,
    ) -> Result<Policy, PolicyError> {
        if !folder.join(CONFIG).is_file() {
            return Err(PolicyError::Missing(folder.to_owned()));
        }
        Policy::read(folder, dtype, device).map_err(PolicyError::in_loading)
    }

    fn read(folder: &Path, dtype: Option<Dtype>, device: Device) -> Result<Policy, PolicyError> {
        let config = ModelConfig::load(&folder.join(CONFIG), dtype)?;
        let generation = GenerationConfig::load(folder, &config)?;
        let tokenizer = Tokenizer::load(folder)?;
        check_tokenizer(&config, &generation, &tokenizer)?;
        let template = ChatTemplate::load(folder)?;
        let mut decoder = Decoder::new(config, device)?;
        weights::load(decoder.parameters_mut(), folder)?;
        Ok(Policy::assemble(decoder, tokenizer, template, generation))
    }

    /// A small random policy whose tokenizer knows the words of `vocabulary`.
    /// The same arguments make the same weights.
    ///
    /// # Errors
    /// If the shape makes no sense or a word contains white space.
    pub fn random(
        config: &PolicyConfig,
        vocabulary: &[String],
        seed: Seed,
        device: Device,
    ) -> Result<Policy, PolicyError> {
        let tokenizer = Tokenizer::from_words(vocabulary)?;
        let (end, pad) = (tokenizer.id(END), tokenizer.id(PAD));
        let model = preset::model_config(config, tokenizer.vocabulary_size(), end, pad)?;
        let generation = GenerationConfig::of(&model);
        let mut decoder = Decoder::new(model, device)?;
        preset::initialize(&mut decoder, seed)?;
        Ok(Policy::assemble(decoder, tokenizer, ChatTemplate::plain()?, generation))
    }

    fn assemble(
        decoder: Decoder,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        generation: GenerationConfig,
    ) -> Policy {
        let threads = default_threads(decoder.device());
        let (tokenizer, chat) = (Arc::new(tokenizer), ChatOptions::default());
        let wording = Wording { tokenizer, template, chat };
        Policy { decoder, adapter: None, wording, generation, threads }
    }

    /// A policy that is this one with a low-rank adapter. The weights of this
    /// one are not copied: both read the same memory, so it must not be
    /// trained any more.
    ///
    /// # Errors
    /// If the adapter's settings make no sense, or its folder does not fit
    /// these weights.
    pub fn adapt(&self, config: &LoraConfig, seed: Seed) -> Result<Policy, PolicyError> {
        if self.adapter.is_some() {
            return Err(PolicyError::Adapter("its base is an adapter itself".to_owned()));
        }
        let adapter = match &config.path {
            Some(folder) => self.read_adapter(folder)?,
            None => Adapter::new(AdapterConfig::of(config)?, self.config(), seed, self.device())?,
        };
        Ok(self.with(Some(adapter)))
    }

    fn read_adapter(&self, folder: &Path) -> Result<Adapter, PolicyError> {
        let adapter = Adapter::load(folder, self.config(), self.device());
        adapter.map_err(PolicyError::in_loading)
    }

    /// The same policy with what was saved of it: its weights, or its adapter.
    ///
    /// # Errors
    /// As [`Policy::load`] and [`Policy::adapt`].
    pub fn restore(&self, folder: &Path) -> Result<Policy, PolicyError> {
        match self.adapter {
            Some(_) => Ok(self.with(Some(self.read_adapter(folder)?))),
            None => {
                let mut loaded = Policy::load(folder, self.device())?;
                loaded.wording.chat = self.wording.chat.clone();
                Ok(loaded)
            }
        }
    }

    /// The policy with its adapter's change made part of copied weights.
    ///
    /// # Errors
    /// If the device has no memory for the copy.
    pub fn merged(&self) -> Result<Policy, PolicyError> {
        let merged = Policy { decoder: self.decoder.duplicate()?, ..self.with(None) };
        if let Some(adapter) = &self.adapter {
            adapter.merge_into(merged.decoder.parameters())?;
        }
        Ok(merged)
    }

    /// The policy without its adapter.
    #[must_use]
    pub fn plain(&self) -> Policy {
        self.with(None)
    }

    /// Whether its weights have 16 bits.
    pub fn is_bfloat16(&self) -> bool {
        self.decoder.parameters().buffer().kind() == tch::Kind::BFloat16
    }

    /// Another policy over the same weights.
    fn with(&self, adapter: Option<Adapter>) -> Policy {
        Policy {
            decoder: self.decoder.share(),
            adapter,
            wording: self.wording.clone(),
            generation: self.generation.clone(),
            threads: self.threads,
        }
    }

    /// Another handle on the same policy, weights and all.
    ///
    /// # Errors
    /// If there is an adapter, which is copied, and no memory for it.
    pub fn share(&self) -> Result<Policy, PolicyError> {
        Ok(self.with(self.adapter.as_ref().map(Adapter::duplicate).transpose()?))
    }

    /// Whether both read the same base weights in memory, and can therefore
    /// decode and train in one batch.
    pub fn shares_base(&self, other: &Policy) -> bool {
        self.adapter.is_some() && other.adapter.is_some() && self.reads_weights_of(other)
    }

    fn reads_weights_of(&self, other: &Policy) -> bool {
        let address = |policy: &Policy| policy.decoder.parameters().buffer().data_ptr();
        address(self) == address(other)
    }

    /// Save in the Hugging Face layout; `transformers` can load the folder. Of
    /// a policy with an adapter only the adapter is saved, in the layout of
    /// `peft`. Each file is replaced as a whole.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        create_folder(folder)?;
        if let Some(adapter) = &self.adapter {
            return adapter.save(folder);
        }
        write_json(&folder.join("config.json"), self.decoder.config())?;
        write_json(&folder.join("generation_config.json"), &self.generation)?;
        self.wording.tokenizer.save(folder)?;
        self.wording.template.save(folder)?;
        weights::save(self.decoder.parameters(), folder, weights::SHARD_BYTES)
    }

    /// Tokens that end an answer, the main one first.
    pub fn end_tokens(&self) -> &[u32] {
        self.generation.end_tokens()
    }

    /// Its way with words, without its weights.
    pub fn wording(&self) -> &Wording {
        &self.wording
    }

    /// [`Wording::encode_prompt`].
    ///
    /// # Errors
    /// As there.
    pub fn encode_prompt(
        &self,
        messages: &[Message],
        tools: &[Value],
        thinking: Option<bool>,
    ) -> Result<Arc<[u32]>, PolicyError> {
        self.wording.encode_prompt(messages, tools, thinking)
    }

    /// Token ids of an answer that ends with the end-of-text token, as the
    /// policy should have said it.
    ///
    /// # Errors
    /// If the tokenizer does not know a word, or the model has no
    /// end-of-text token.
    pub fn encode_answer(&self, text: &str) -> Result<Vec<u32>, PolicyError> {
        let unknown = self.wording.tokenizer.unknown_words(text);
        if !unknown.is_empty() {
            return Err(PolicyError::UnknownWords(unknown));
        }
        let end = self.generation.end_tokens().first().copied().ok_or_else(|| {
            PolicyError::Tokenizer("there is no `eos_token_id` in `config.json`".to_owned())
        })?;
        let mut tokens = self.wording.tokenizer.encode(text)?;
        tokens.push(end);
        Ok(tokens)
    }

    /// Whether both mean the same by every token.
    pub fn reads_like(&self, other: &Policy) -> bool {
        self.wording.tokenizer.has_tokens_of(&other.wording.tokenizer)
    }

    /// The words of `text`, split at white space, that the tokenizer cannot
    /// represent; each once, in order.
    pub fn unknown_words(&self, text: &str) -> Vec<String> {
        self.wording.tokenizer.unknown_words(text)
    }

    /// SHA-256 over names, shapes and bytes of all weights, in hexadecimal.
    ///
    /// # Errors
    /// If the weights cannot be copied from the device.
    pub fn digest(&self) -> Result<String, PolicyError> {
        let mut hasher = Sha256::new();
        let adapter = self.adapter.iter().flat_map(|adapter| adapter.parameters().tensors());
        for (slot, tensor) in self.decoder.parameters().tensors().chain(adapter) {
            hasher.update(slot.name().as_bytes());
            hasher.update(format!("{:?}{:?}", slot.shape(), tensor.kind()).as_bytes());
            hasher.update(weights::bytes(&tensor)?);
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// BLAKE3 over names, shapes and bytes of what training changes, the adapter if there is one, in
    /// hexadecimal.
    ///
    /// # Errors
    /// If the weights cannot be copied from the device.
    pub fn trained_digest(&self) -> Result<String, PolicyError> {
        let mut hasher = blake3::Hasher::new();
        let parameters = match &self.adapter {
            Some(adapter) => adapter.parameters(),
            None => self.decoder.parameters(),
        };
        for (slot, tensor) in parameters.tensors() {
            hasher.update(slot.name().as_bytes());
            hasher.update(format!("{:?}{:?}", slot.shape(), tensor.kind()).as_bytes());
            hasher.update(&weights::bytes(&tensor)?);
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    /// Euclidean distance of what is trained from the same of another policy.
    ///
    /// # Errors
    /// If it is of other weights.
    pub fn trained_distance(&self, other: &Policy) -> Result<f64, PolicyError> {
        let [one, other] = [self, other].map(|policy| policy.trainable().buffer());
        let difference =
            one.f_to_kind(tch::Kind::Double)?.f_sub(&other.f_to_kind(tch::Kind::Double)?)?;
        Ok(f64::try_from(difference.f_norm()?)?)
    }

    /// Numbers in the weights, the base's included; tied ones count once.
    pub fn parameter_count(&self) -> usize {
        let adapter = self.adapter.as_ref().map_or(0, |adapter| adapter.parameters().count());
        self.decoder.parameters().count() + adapter
    }

    /// Whether what is trained is an adapter.
    pub fn is_adapter(&self) -> bool {
        self.adapter.is_some()
    }

    /// The inner width of its adapter; 0 without one.
    pub fn adapter_rank(&self) -> i64 {
        self.adapter.as_ref().map_or(0, Adapter::rank)
    }

    /// A copy that does not change when this policy is trained. The base of an
    /// adapter never changes and is not copied.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn duplicate(&self) -> Result<Policy, PolicyError> {
        if self.adapter.is_some() {
            return self.share();
        }
        Ok(Policy { decoder: self.decoder.duplicate()?, ..self.with(None) })
    }

    /// Set what the chat template is told beside the messages.
    pub fn set_chat_options(&mut self, options: ChatOptions) {
        self.wording.chat = options;
    }

    /// The architecture, as `config.json` has it.
    pub fn config(&self) -> &ModelConfig {
        self.decoder.config()
    }

    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.decoder.device()
    }

    /// Threads over which sampling and training split their batches.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Set the threads of sampling and training. Changes their speed, never
    /// their results. Has no effect on a GPU.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Have policies answer faster that nobody learns from any more, for at most as much memory
    /// again: on a CPU the weights are read as 16 bits where they are as exact, or `rounding` does
    /// not mind, and by all threads together where one question is asked at a time. Those over one
    /// base share the copies.
    pub fn settle<'p>(policies: impl IntoIterator<Item = &'p mut Policy>, rounding: Rounding) {
        let mut settled: Vec<&Policy> = Vec::new();
        for policy in policies {
            let decoder = &policy.decoder;
            if !decoder.waits_for_weights() || decoder.device().is_gpu() {
                continue;
            }
            policy.decoder = match settled.iter().find(|other| other.reads_weights_of(policy)) {
                Some(other) => other.decoder.share(),
                None => decoder.packed_to_answer(policy.threads, rounding),
            };
            settled.push(policy);
        }
    }

    /// Bytes that the keys and values of a token take.
    pub fn cache_bytes_per_token(&self) -> usize {
        let config = self.config();
        let numbers = config.num_hidden_layers * config.num_key_value_heads * config.head_dim;
        let kind = self.decoder.parameters().buffer().kind();
        2 * numbers as usize * kind.elt_size_in_bytes()
    }

    /// What its tokens mean.
    pub(super) fn codec(&self) -> TokenCodec {
        TokenCodec {
            tokenizer: self.wording.tokenizer.clone(),
            ends: self.generation.end_tokens().into(),
            thoughts: self.wording.tokenizer.thought_marks(),
        }
    }

    /// What its answers may be, over its token ids; none if they may be anything.
    ///
    /// # Errors
    /// If it cannot keep to that.
    pub fn automaton(&self, sampling: &Sampling) -> Result<Option<Arc<Automaton>>, PolicyError> {
        let vocabulary = self.config().vocab_size as usize;
        let of = |constraint| self.codec().automaton(constraint, vocabulary);
        sampling.constraint.as_ref().map(of).transpose()
    }

    /// The network.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Policies as they decode together, in the given order; all must share
    /// the base of the first, see [`Policy::shares_base`].
    pub fn shared_base(policies: &[&Policy]) -> SharedBase {
        let blocks = |policy: &&Policy| policy.adapter.as_ref().map(Adapter::blocks);
        SharedBase::new(policies[0].decoder.share(), policies.iter().map(blocks).collect())
    }

    /// Handles on the same weights that record gradients, and each policy's
    /// leaves to take them for: the fused blocks of what is trained of it.
    pub fn tracked(policies: &[&Policy]) -> (SharedBase, Vec<Vec<tch::Tensor>>) {
        let mut leaves = Vec::new();
        let mut decoder = policies[0].decoder.share();
        let members = policies.iter().map(|policy| match &policy.adapter {
            Some(adapter) => {
                let (blocks, own) = adapter.tracked();
                leaves.push(own);
                Some(blocks)
            }
            None => {
                let (tracked, own) = policy.decoder.tracked();
                decoder = tracked;
                leaves.push(own);
                None
            }
        });
        let members = members.collect();
        (SharedBase::new(decoder, members), leaves)
    }

    /// What training changes, by checkpoint name: the adapter, or everything.
    pub fn trainable_mut(&mut self) -> &mut Parameters {
        match &mut self.adapter {
            Some(adapter) => adapter.parameters_mut(),
            None => self.decoder.parameters_mut(),
        }
    }

    /// The weights that training changes: those of the adapter, or all.
    pub fn trainable(&self) -> &Parameters {
        match &self.adapter {
            Some(adapter) => adapter.parameters(),
            None => self.decoder.parameters(),
        }
    }
}
