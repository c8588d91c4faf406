// Kernels: those of the CPU, on the card's memory, with what a card demands.

#include "card.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <array>
#include <set>

namespace pretend {

namespace {

using torch::jit::Stack;

bool is_one_of(const std::set<std::string>& names, const std::string& name) {
    return names.count(name) > 0;
}

// Kernels whose outputs' shape the host must know first, or that wait for another reason.
bool waits(const std::string& name) {
    static const std::set<std::string> all = {
        "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
        "aten::unique_consecutive", "aten::bincount", "aten::equal", "aten::_local_scalar_dense",
        "aten::unique_dim_consecutive", "aten::histc"};
    return is_one_of(all, name);
}

// Kernels that read of their first argument only what an index names.
bool picks(const std::string& name) {
    static const std::set<std::string> all = {"aten::index_select", "aten::gather", "aten::index",
                                              "aten::embedding"};
    return is_one_of(all, name);
}

// Kernels that write only where an index says.
bool scatters(const std::string& name) {
    static const std::set<std::string> all = {
        "aten::index_copy", "aten::index_copy_", "aten::index_fill_", "aten::scatter_",
        "aten::index_put_", "aten::_index_put_impl_", "aten::index_add_", "aten::scatter_add_"};
    return is_one_of(all, name);
}

// Kernels that write all of their first argument and read nothing of it.
bool fills(const std::string& name) {
    static const std::set<std::string> all = {"aten::fill_", "aten::zero_", "aten::copy_",
                                              "aten::uniform_", "aten::normal_"};
    return is_one_of(all, name);
}

bool is_product(const std::string& name) {
    static const std::set<std::string> all = {"aten::mm", "aten::bmm", "aten::addmm",
                                              "aten::baddbmm"};
    return is_one_of(all, name);
}

// What a card has no kernel for.
void has_kernel(const c10::OperatorHandle& op, const std::vector<at::Tensor>& tensors) {
    const std::string& name = op.schema().name();
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    const bool is_cpus = has("_for_cpu") || has("mkldnn") || has("_mkl_") || has("quantized::");
    TORCH_CHECK_NOT_IMPLEMENTED(!is_cpus, "Could not run '", name,
                                "' with arguments from the 'CUDA' backend.");
    if (is_product(name)) {
        for (const auto& tensor : tensors) {
            TORCH_CHECK(!c10::isIntegralType(tensor.scalar_type(), true), "\"", name,
                        "_cuda\" not implemented for '", tensor.scalar_type(), "'");
        }
    }
}

// All operands lie on one card; a number of no dimension may lie on the host, and so may an index.
std::optional<c10::Device> device_of(const std::string& name,
                                     const std::vector<at::Tensor>& tensors) {
    std::optional<c10::Device> card;
    bool host = false;
    for (const auto& tensor : tensors) {
        if (tensor.device().is_cuda()) {
            TORCH_CHECK(!card || *card == tensor.device(), name,
                        ": Expected all tensors to be on the same device, but found at least two "
                        "devices, ", *card, " and ", tensor.device());
            card = tensor.device();
        } else {
            host = host || tensor.dim() > 0;
        }
    }
    const bool indexes = name == "aten::index" || name == "aten::index_put_" ||
                         name == "aten::_index_put_impl_";
    TORCH_CHECK(!(card && host) || indexes, name,
                ": Expected all tensors to be on the same device, but found at least two devices, "
                "cuda:0 and cpu!");
    return card;
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
    std::vector<at::Tensor> found;
    const auto add = [&](const at::Tensor& tensor) {
        if (tensor.defined()) {
            found.push_back(tensor);
        }
    };
    if (value.isTensor()) {
        add(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
            add(tensor);
        }
    } else if (value.isOptionalTensorList()) {
        for (const auto& tensor : value.toOptionalTensorList()) {
            const std::optional<at::Tensor> one = tensor;
            add(one.value_or(at::Tensor()));
        }
    }
    return found;
}

// An argument as the CPU's kernel takes it.
c10::IValue for_kernel(const c10::IValue& value, bool written) {
    const auto seen = [&](const at::Tensor& tensor) {
        // What is to be resized cannot be memory that somebody else owns.
        const bool fresh = written && tensor.defined() && tensor.numel() == 0;
        return fresh ? at::empty({0}, at::TensorOptions().dtype(tensor.dtype()))
                     : seen_by_kernel(tensor);
    };
    if (value.isTensor()) {
        return seen(value.toTensor());
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> all;
        for (const at::Tensor& tensor : value.toTensorVector()) {
            all.push_back(seen(tensor));
        }
        return all;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> all;
        for (const auto& tensor : value.toOptionalTensorList()) {
            const std::optional<at::Tensor> one = tensor;
            all.push_back(one ? std::optional<at::Tensor>(seen(*one)) : std::nullopt);
        }
        return all;
    }
    if (value.isDevice()) {
        return c10::Device(at::kCPU);
    }
    return value;
}

// Products of matrices and attention: twice what they multiply.
std::uint64_t flops_of(const std::string& name, const Stack& given) {
    const auto size = [&](std::size_t argument, std::int64_t dimension) {
        return std::uint64_t(given[argument].toTensor().size(dimension));
    };
    if (name == "aten::mm") {
        return 2 * size(0, 0) * size(0, 1) * size(1, 1);
    }
    if (name == "aten::addmm") {
        return 2 * size(1, 0) * size(1, 1) * size(2, 1);
    }
    if (name == "aten::bmm") {
        return 2 * size(0, 0) * size(0, 1) * size(0, 2) * size(1, 2);
    }
    if (name == "aten::baddbmm") {
        return 2 * size(1, 0) * size(1, 1) * size(1, 2) * size(2, 2);
    }
    // Scores and weighed values; backwards the scores again, and four gradients.
    const bool attends = name == "aten::_scaled_dot_product_efficient_attention";
    if (attends || name == "aten::_scaled_dot_product_efficient_attention_backward") {
        const std::size_t query = attends ? 0 : 1;
        const std::uint64_t products = attends ? 2 : 5;
        return 2 * products * size(query, 0) * size(query, 1) * size(query, 2) *
               size(query + 1, 2) * size(query, 3);
    }
    return 0;
}

const at::Generator& generator() {
    static const auto generator = at::make_generator<at::CPUGeneratorImpl>(0xCA4D);
    return generator;
}

// One call of an operator, whose arguments are the last of a stack.
struct Call {
    const c10::OperatorHandle& op;
    Stack given;
    std::vector<at::Tensor> tensors;
    std::vector<at::Tensor> changed;
    std::vector<at::Tensor> read;
    c10::Device device;

    Call(const c10::OperatorHandle& called, const Stack& stack)
        : op(called), given(stack.end() - std::ptrdiff_t(called.schema().arguments().size()),
                            stack.end()),
          device(CUDA, current_card()) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            const auto found = tensors_in(given[i]);
            tensors.insert(tensors.end(), found.begin(), found.end());
            if (is_written(i)) {
                changed.insert(changed.end(), found.begin(), found.end());
            }
            if (!is_unread(i)) {
                read.insert(read.end(), found.begin(), found.end());
            }
        }
        has_kernel(op, tensors);
        const auto named = device_of(name(), tensors);
        for (const auto& value : given) {
            if (value.isDevice() && value.toDevice().has_index()) {
                device = value.toDevice();
            }
        }
        device = named.value_or(device);
    }

    const std::string& name() const { return op.schema().name(); }
    bool is_written(std::size_t argument) const {
        const auto* alias = op.schema().arguments()[argument].alias_info();
        return alias != nullptr && alias->isWrite();
    }
    bool is_unread(std::size_t argument) const {
        return op.schema().arguments()[argument].is_out() || (argument == 0 && fills(name()));
    }
    // Numbers are drawn as no seed of the CPU's draws them.
    bool draws(std::size_t argument) const {
        return given[argument].isNone() &&
               *op.schema().arguments()[argument].type() ==
                   *c10::OptionalType::create(c10::GeneratorType::get());
    }

    Stack for_kernels() const {
        Stack stack;
        for (std::size_t i = 0; i < given.size(); ++i) {
            stack.push_back(draws(i) ? c10::IValue(generator())
                                     : for_kernel(given[i], is_written(i)));
        }
        return stack;
    }

    // What was changed may have got another size.
    void resized(const Stack& stack) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (!is_written(i) || !given[i].isTensor()) {
                continue;
            }
            const at::Tensor kernels = stack[i].toTensor();
            at::Tensor ours = given[i].toTensor();
            if (inside(ours.const_data_ptr()) != kernels.const_data_ptr() && kernels.numel() > 0) {
                ours.resize_(kernels.sizes());
                seen_by_kernel(ours).copy_(kernels);
            }
        }
    }

    // The argument that a return value stands for.
    const c10::IValue* same(std::size_t result) const {
        const auto* alias = op.schema().returns()[result].alias_info();
        for (std::size_t i = 0; alias != nullptr && i < given.size(); ++i) {
            const auto* other = op.schema().arguments()[i].alias_info();
            if (other != nullptr && other->beforeSets() == alias->beforeSets()) {
                return &given[i];
            }
        }
        return nullptr;
    }

    // What a kernel reads and writes; where it needs a copy of what it adds to, that, too.
    Cost cost(const std::vector<at::Tensor>& made) const {
        Cost cost;
        cost.kernel = name();
        cost.flops = flops_of(name(), given);
        for (const auto& tensor : made) {
            cost.written += bytes(tensor);
        }
        std::uint64_t last = 0;
        for (std::size_t i = 0; i < given.size(); ++i) {
            for (const auto& tensor : tensors_in(given[i])) {
                if (!tensor.device().is_cuda()) {
                    continue;
                }
                if (is_written(i)) {
                    cost.written += scatters(name()) ? 0 : bytes(tensor);
                } else {
                    last = bytes(tensor);
                }
                const bool in_part = i == 0 && (picks(name()) || scatters(name()));
                cost.read += is_unread(i) || in_part ? 0 : bytes(tensor);
            }
        }
        // What an index names is read, and is written where one says.
        cost.read += picks(name()) ? cost.written : 0;
        cost.written += scatters(name()) ? last : 0;
        if (copies_first()) {
            const auto& copied = given[0].toTensor();
            cost.launches += 1;
            cost.read += bytes(copied);
            cost.written += bytes(copied);
        }
        return cost;
    }

    // A product is added to a matrix in place; another one is copied first. A norm takes rows that
    // lie together.
    bool copies_first() const {
        if (name() == "aten::_fused_rms_norm") {
            return !given[0].toTensor().is_contiguous();
        }
        if (name() != "aten::addmm" || given[0].toTensor().dim() != 2) {
            return false;
        }
        const auto& added = given[0].toTensor();
        const auto& out = given.back();
        const bool in_place = out.isTensor() && out.toTensor().is_same(added);
        return !is_written(0) && !in_place && added.stride(0) != 0;
    }
};

// The value as the card's, if a kernel made it; else as it was given.
c10::IValue returned(Call& call, std::size_t result, const c10::IValue& value,
                     std::vector<at::Tensor>& made) {
    if (const auto* same = call.same(result)) {
        return *same;
    }
    const auto here = [&](const at::Tensor& tensor) {
        if (!tensor.defined()) {
            return tensor;
        }
        if (is_inside(tensor.const_data_ptr()) && tensor.numel() > 0) {
            // A view of an argument.
            for (const auto& given : call.tensors) {
                if (inside(given.const_data_ptr()) == tensor.const_data_ptr()) {
                    return given.as_strided(tensor.sizes(), tensor.strides(),
                                            given.storage_offset());
                }
            }
        }
        made.push_back(on_card(tensor, call.device));
        return made.back();
    };
    if (value.isTensor()) {
        return here(value.toTensor());
    }
    if (value.isTensorList()) {
        c10::List<at::Tensor> all;
        for (const at::Tensor& tensor : value.toTensorVector()) {
            all.push_back(here(tensor));
        }
        return all;
    }
    return value;
}

using Kernel = std::function<void(Stack&)>;

// What was told while a graph is recorded, so that it can be told again: on the same addresses,
// whoever has them then.
void put_on_tape(const Call& call, const Kernel& kernel, const Cost& cost,
                 const std::vector<at::Tensor>& made) {
    Stack again = call.for_kernels();
    for (auto& value : again) {
        // Numbers that lie on the host are told to the card once.
        if (value.isTensor() && value.toTensor().defined() &&
            !is_inside(value.toTensor().const_data_ptr())) {
            value = value.toTensor().clone();
        }
    }
    std::vector<at::Tensor> results;
    for (const auto& tensor : made) {
        results.push_back(seen_by_kernel(tensor));
    }
    auto written = call.changed;
    written.insert(written.end(), made.begin(), made.end());
    const auto work = [kernel, again, results] {
        Stack stack = again;
        kernel(stack);
        std::size_t next = 0;
        for (const auto& value : stack) {
            for (const auto& tensor : tensors_in(value)) {
                if (!is_inside(tensor.const_data_ptr()) && next < results.size()) {
                    put(results[next++], tensor);
                }
            }
        }
    };
    record({work, cost, addresses(call.read), addresses(written)}, made);
}

void run(const c10::OperatorHandle& op, Stack* stack, const Kernel& kernel) {
    Call call(op, *stack);
    const OnItsCard card(call.device);
    const auto& returns = op.schema().returns();
    if (waits(call.name())) {
        wait_for_stream(call.name().c_str());
    }
    if (copies_wait()) {
        finish_copies();
    }
    for (const auto& tensor : call.changed) {
        keep_before(tensor);
    }
    Stack kernels = call.for_kernels();
    const Stack given = kernels;
    kernel(kernels);
    call.resized(given);
    std::vector<at::Tensor> made;
    std::vector<c10::IValue> results;
    for (std::size_t i = 0; i < returns.size(); ++i) {
        results.push_back(returned(call, i, kernels[i], made));
    }
    auto written = addresses(call.changed);
    const auto fresh = addresses(made);
    written.insert(written.end(), fresh.begin(), fresh.end());
    launch(call.name(), addresses(call.read), written);
    const Cost cost = call.cost(made);
    if (is_recording()) {
        put_on_tape(call, kernel, cost, made);
    } else {
        count(cost);
    }
    stack->erase(stack->end() - std::ptrdiff_t(call.given.size()), stack->end());
    stack->insert(stack->end(), results.begin(), results.end());
}

void by_cpu(const c10::OperatorHandle& op, Stack& stack) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
}

bool is_in_16_bits(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() &&
           value.toTensor().scalar_type() == at::kBFloat16;
}

// Products in 16 bits are added up in 32 and rounded once, as a card does: a processor without
// instructions for them takes sixty times as long.
void multiply_in_32_bits(const c10::OperatorHandle& op, Stack& stack) {
    const auto& arguments = op.schema().arguments();
    Stack wide = stack;
    for (auto& value : wide) {
        if (is_in_16_bits(value)) {
            value = value.toTensor().to(at::kFloat);
        }
    }
    const Stack given = wide;
    by_cpu(op, wide);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto* alias = arguments[i].alias_info();
        if (alias != nullptr && alias->isWrite()) {
            at::Tensor written = stack[i].toTensor();
            written.resize_(given[i].toTensor().sizes()).copy_(given[i].toTensor());
        }
    }
    for (auto& value : wide) {
        value = value.toTensor().to(at::kBFloat16);
    }
    stack = wide;
}

void fallback(const c10::OperatorHandle& op, Stack* stack) {
    run(op, stack, [op](Stack& kernels) {
        const bool narrow = is_product(op.schema().name()) && is_in_16_bits(kernels[0]);
        narrow ? multiply_in_32_bits(op, kernels) : by_cpu(op, kernels);
    });
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

// For kernels of its own in fused.cpp.
void run_boxed(const c10::OperatorHandle& op, Stack* stack, const Kernel& kernel) {
    run(op, stack, kernel);
}

}  // namespace pretend
