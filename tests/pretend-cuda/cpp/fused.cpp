// Fused kernels, in plain operations, with their demands and in the precision that they have.

#include "card.h"

#include <ATen/ATen.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/library.h>

#include <cmath>

namespace pretend {

void run_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack,
               const std::function<void(torch::jit::Stack&)>& kernel);

namespace {

using torch::jit::Stack;

// Numbers that a kernel reads at a time: 16 bytes of them.
std::int64_t aligned_to(const at::Tensor& tensor) { return 16 / tensor.element_size(); }

at::Tensor wide(const at::Tensor& tensor) { return tensor.to(at::kFloat); }

// Takes an operator's arguments off a stack and leaves its results.
class Arguments {
  public:
    Arguments(Stack& stack, std::size_t count)
        : stack_(stack), all_(stack.end() - std::ptrdiff_t(count), stack.end()) {
        stack.resize(stack.size() - count);
    }
    at::Tensor tensor(std::size_t i) const {
        return all_[i].isTensor() ? all_[i].toTensor() : at::Tensor();
    }
    const c10::IValue& operator[](std::size_t i) const { return all_[i]; }
    template <typename... Results>
    void answer(Results... results) {
        (stack_.push_back(std::move(results)), ...);
    }

  private:
    Stack& stack_;
    Stack all_;
};

double scale_of(const c10::IValue& scale, const at::Tensor& query) {
    return scale.isNone() ? 1.0 / std::sqrt(double(query.size(-1))) : scale.toDouble();
}

void check_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const at::Tensor& bias) {
    for (const auto& tensor : {query, key, value}) {
        TORCH_CHECK(tensor.dim() == 4, "efficient attention: takes four dimensions");
        TORCH_CHECK(tensor.scalar_type() == query.scalar_type(),
                    "efficient attention: operands of several types");
        TORCH_CHECK(tensor.stride(-1) == 1, "efficient attention: heads do not lie together");
        TORCH_CHECK(tensor.size(-1) % aligned_to(tensor) == 0,
                    "efficient attention: head size is not correctly aligned");
    }
    TORCH_CHECK(query.size(0) == key.size(0) && query.size(1) == key.size(1),
                "efficient attention: other batches or heads of keys");
    if (!bias.defined()) {
        return;
    }
    TORCH_CHECK(bias.scalar_type() == query.scalar_type(),
                "efficient attention: a bias of another type");
    TORCH_CHECK(bias.sizes() == at::IntArrayRef({query.size(0), query.size(1), query.size(2),
                                                 key.size(2)}),
                "efficient attention: a bias of another shape");
    TORCH_CHECK(bias.stride(-1) == 1, "efficient attention: a row of the bias is scattered");
    for (std::int64_t d = 0; d < 3; ++d) {
        TORCH_CHECK(bias.size(d) <= 1 || bias.stride(d) % aligned_to(query) == 0,
                    "efficient attention: attn_bias is not correctly aligned (dimension ", d, " of ", bias.sizes(), ", strides ", bias.strides(), ")");
    }
    TORCH_CHECK(reinterpret_cast<std::uintptr_t>(bias.const_data_ptr()) % 16 == 0,
                "efficient attention: attn_bias is not correctly aligned (its start)");
}

at::Tensor scores(const at::Tensor& query, const at::Tensor& key, const at::Tensor& bias,
                  bool causal, double scale) {
    auto scores = at::matmul(wide(query), wide(key).transpose(-2, -1)) * scale;
    if (causal) {
        scores = scores + at::full({query.size(-2), key.size(-2)}, -INFINITY).triu(1);
    }
    return bias.defined() ? scores + wide(bias) : scores;
}

// `_scaled_dot_product_efficient_attention`: sums as natural logarithms, in 32 bits, for a multiple
// of 32 queries.
void attention(Stack& stack) {
    Arguments given(stack, 8);
    const auto query = given.tensor(0);
    const auto key = given.tensor(1);
    const auto value = given.tensor(2);
    const auto bias = given.tensor(3);
    check_attention(query, key, value, bias);
    TORCH_CHECK(given[5].toDouble() == 0.0, "efficient attention: nothing is dropped here");
    const auto all = scores(query, key, bias, given[6].toBool(), scale_of(given[7], query));
    const bool sums = given[4].toBool();
    const std::int64_t rows = sums ? (query.size(2) + 31) / 32 * 32 : 0;
    auto padded = at::full({query.size(0), query.size(1), rows}, INFINITY);
    if (sums) {
        padded.narrow(2, 0, query.size(2)).copy_(at::logsumexp(all, {-1}));
    }
    // Kept as [batch, queries, heads, width] and returned in another order of dimensions.
    auto out = at::matmul(at::softmax(all, -1), wide(value)).to(query.scalar_type());
    out = out.transpose(1, 2).contiguous().transpose(1, 2);
    const auto nothing = at::zeros({}, at::kLong);
    given.answer(out, padded, nothing, nothing.clone());
}

void attention_backward(Stack& stack) {
    Arguments given(stack, 13);
    const auto gradient = wide(given.tensor(0));
    const auto query = given.tensor(1);
    const auto key = given.tensor(2);
    const auto value = given.tensor(3);
    const auto bias = given.tensor(4);
    check_attention(query, key, value, bias);
    const double scale = scale_of(given[12], query);
    const auto sums = given.tensor(6).narrow(2, 0, query.size(2)).unsqueeze(3);
    const auto weights = at::exp(scores(query, key, bias, given[11].toBool(), scale) - sums);
    const auto of_weights = at::matmul(gradient, wide(value).transpose(-2, -1));
    const auto share = (gradient * wide(given.tensor(5))).sum(-1, true);
    const auto of_scores = weights * (of_weights - share);
    const auto back = [&](const at::Tensor& tensor) { return tensor.to(query.scalar_type()); };
    const bool of_bias = given[10].toBoolList().get(3);
    given.answer(back(at::matmul(of_scores, wide(key)) * scale),
                 back(at::matmul(of_scores.transpose(-2, -1), wide(query)) * scale),
                 back(at::matmul(weights.transpose(-2, -1), gradient)),
                 of_bias && bias.defined() ? back(of_scores) : at::Tensor());
}

// `_fused_rms_norm`: in 32 bits, whatever the type of what is normed.
void rms_norm(Stack& stack) {
    Arguments given(stack, 4);
    const auto input = given.tensor(0);
    const auto weight = given.tensor(2);
    TORCH_CHECK(!weight.defined() || weight.scalar_type() == input.scalar_type(),
                "_fused_rms_norm: a weight of another type");
    TORCH_CHECK(given[1].toIntVector().size() == 1, "_fused_rms_norm: one dimension is known here");
    const auto x = wide(input);
    const double epsilon = given[3].isNone() ? 1.1920928955078125e-07 : given[3].toDouble();
    const auto rstd = at::rsqrt((x * x).mean({-1}, true) + epsilon);
    const auto normed = weight.defined() ? x * rstd * wide(weight) : x * rstd;
    given.answer(normed.to(input.scalar_type()), rstd);
}

void rms_norm_backward(Stack& stack) {
    Arguments given(stack, 6);
    const auto gradient = wide(given.tensor(0));
    const auto input = given.tensor(1);
    const auto rstd = given.tensor(3);
    const auto weight = given.tensor(4);
    const auto normed = wide(input) * rstd;
    const auto through = weight.defined() ? gradient * wide(weight) : gradient;
    const auto of_input = (through - normed * (through * normed).mean({-1}, true)) * rstd;
    const auto wanted = given[5].toBoolList();
    at::Tensor of_weight;
    if (wanted.get(1) && weight.defined()) {
        of_weight = (gradient * normed).reshape({-1, weight.size(0)}).sum(0).to(weight.scalar_type());
    }
    given.answer(wanted.get(0) ? of_input.to(input.scalar_type()) : at::Tensor(), of_weight);
}

template <void (*Kernel)(Stack&)>
void boxed(const c10::OperatorHandle& op, Stack* stack) {
    run_boxed(op, stack, Kernel);
}

template <void (*Kernel)(Stack&)>
torch::CppFunction kernel() {
    return torch::CppFunction::makeFromBoxedFunction<&boxed<Kernel>>();
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
    m.impl("_scaled_dot_product_efficient_attention", kernel<attention>());
    m.impl("_scaled_dot_product_efficient_attention_backward", kernel<attention_backward>());
    m.impl("_fused_rms_norm", kernel<rms_norm>());
    m.impl("_fused_rms_norm_backward", kernel<rms_norm_backward>());
}

// Which kernel libtorch takes where it has the choice: the efficient one, where heads suit it.
std::int64_t choose(const at::Tensor& query, const at::Tensor& /*key*/, const at::Tensor& /*value*/,
                    const std::optional<at::Tensor>& /*mask*/, double /*dropout*/, bool /*causal*/,
                    std::optional<double> /*scale*/, bool /*grouped*/) {
    const bool suits = query.size(-1) % aligned_to(query) == 0;
    return std::int64_t(suits ? sdp::SDPBackend::efficient_attention : sdp::SDPBackend::math);
}

struct Choice {
    Choice() { at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose); }
} choice;

}  // namespace
}  // namespace pretend
