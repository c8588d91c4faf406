//! GGUF files, written number by number.

/// A file that grows.
#[derive(Clone, Default)]
pub struct GgufFile {
    entries: Vec<u8>,
    count: u64,
    tensors: Vec<Tensor>,
}

#[derive(Clone)]
struct Tensor {
    name: String,
    sizes: Vec<u64>,
    kind: u32,
    bytes: Vec<u8>,
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

impl GgufFile {
    /// An entry of any type: its number, and its bytes.
    pub fn entry(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        put_text(&mut self.entries, name);
        self.entries.extend(kind.to_le_bytes());
        self.entries.extend(value);
        self.count += 1;
        self
    }

    pub fn whole(self, name: &str, value: u32) -> Self {
        self.entry(name, 4, &value.to_le_bytes())
    }

    pub fn number(self, name: &str, value: f32) -> Self {
        self.entry(name, 6, &value.to_le_bytes())
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        let mut bytes = Vec::new();
        put_text(&mut bytes, value);
        self.entry(name, 8, &bytes)
    }

    pub fn texts(self, name: &str, values: &[String]) -> Self {
        let mut bytes = 8_u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| put_text(&mut bytes, value));
        self.entry(name, 9, &bytes)
    }

    pub fn wholes(self, name: &str, values: &[i32]) -> Self {
        let mut bytes = 5_u32.to_le_bytes().to_vec();
        bytes.extend((values.len() as u64).to_le_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.entry(name, 9, &bytes)
    }

    /// A tensor of any type; the fastest changing size first.
    pub fn tensor(mut self, name: &str, sizes: &[u64], kind: u32, bytes: Vec<u8>) -> Self {
        self.tensors.push(Tensor { name: name.to_owned(), sizes: sizes.to_vec(), kind, bytes });
        self
    }

    /// A tensor of 32-bit numbers that look random, near `mean`.
    pub fn floats(self, name: &str, sizes: &[u64], mean: f32) -> Self {
        let salt = name.bytes().fold(7_u32, |salt, byte| salt.wrapping_mul(31) + u32::from(byte));
        let number = |index: u64| {
            let mixed = (index as u32 ^ salt).wrapping_mul(2_654_435_761) >> 8;
            mean + (mixed as f32 / 16_777_216.0 - 0.5) * 0.5
        };
        let bytes = (0..sizes.iter().product()).flat_map(|index| number(index).to_le_bytes());
        let bytes = bytes.collect();
        self.tensor(name, sizes, 0, bytes)
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(&self.entries);
        let mut data = Vec::new();
        for tensor in &self.tensors {
            put_text(&mut bytes, &tensor.name);
            bytes.extend((tensor.sizes.len() as u32).to_le_bytes());
            bytes.extend(tensor.sizes.iter().flat_map(|size| size.to_le_bytes()));
            bytes.extend(tensor.kind.to_le_bytes());
            data.resize(data.len().next_multiple_of(32), 0_u8);
            bytes.extend((data.len() as u64).to_le_bytes());
            data.extend(&tensor.bytes);
        }
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        [bytes, data].concat()
    }
}

/// What stands for each byte in a tokenizer of bytes: itself where it can be
/// seen, else a letter from 256 on.
fn byte_letters() -> Vec<String> {
    let mut hidden = 256..;
    (0..=255_u8)
        .map(|byte| match byte {
            b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff => char::from(byte).to_string(),
            _ => hidden.next().and_then(char::from_u32).expect("a letter").to_string(),
        })
        .collect()
}

/// The template of the tiny models.
pub const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// What a file says of a tiny model: two layers of width 16 with two heads of
/// 8 over one key and value head; every byte is a token, and so are two pairs.
pub fn entries(architecture: &str, pre: &str) -> GgufFile {
    let mut tokens = byte_letters();
    tokens.extend(["he", "12", "<|im_start|>", "<|im_end|>"].map(str::to_owned));
    let mut kinds = vec![1; 258];
    kinds.extend([3, 3]);
    let key = |key: &str| format!("{architecture}.{key}");
    GgufFile::default()
        .text("general.architecture", architecture)
        .whole(&key("block_count"), 2)
        .whole(&key("context_length"), 4096)
        .whole(&key("embedding_length"), 16)
        .whole(&key("feed_forward_length"), 32)
        .whole(&key("attention.head_count"), 2)
        .whole(&key("attention.head_count_kv"), 1)
        .number(&key("attention.layer_norm_rms_epsilon"), 1e-5)
        .number(&key("rope.freq_base"), 100_000.0)
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", pre)
        .texts("tokenizer.ggml.tokens", &tokens)
        .wholes("tokenizer.ggml.token_type", &kinds)
        .texts("tokenizer.ggml.merges", &["h e", "1 2"].map(str::to_owned))
        .whole("tokenizer.ggml.bos_token_id", 258)
        .whole("tokenizer.ggml.eos_token_id", 259)
        .text("tokenizer.chat_template", TEMPLATE)
}

/// A tiny model with weights that look random.
pub fn tiny(architecture: &str, pre: &str) -> GgufFile {
    let mut file = entries(architecture, pre).floats("token_embd.weight", &[16, 260], 0.0).floats(
        "output_norm.weight",
        &[16],
        1.0,
    );
    for layer in 0..2 {
        let name = |part: &str| format!("blk.{layer}.{part}");
        file = file
            .floats(&name("attn_norm.weight"), &[16], 1.0)
            .floats(&name("ffn_norm.weight"), &[16], 1.0)
            .floats(&name("attn_q.weight"), &[16, 16], 0.0)
            .floats(&name("attn_k.weight"), &[16, 8], 0.0)
            .floats(&name("attn_v.weight"), &[16, 8], 0.0)
            .floats(&name("attn_output.weight"), &[16, 16], 0.0)
            .floats(&name("ffn_gate.weight"), &[16, 32], 0.0)
            .floats(&name("ffn_up.weight"), &[16, 32], 0.0)
            .floats(&name("ffn_down.weight"), &[32, 16], 0.0);
        if architecture == "qwen2" {
            file = file
                .floats(&name("attn_q.bias"), &[16], 0.0)
                .floats(&name("attn_k.bias"), &[8], 0.0)
                .floats(&name("attn_v.bias"), &[8], 0.0);
        }
        if architecture == "qwen3" {
            file = file.floats(&name("attn_q_norm.weight"), &[8], 1.0).floats(
                &name("attn_k_norm.weight"),
                &[8],
                1.0,
            );
        }
    }
    file
}
