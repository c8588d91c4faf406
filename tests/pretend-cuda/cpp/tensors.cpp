// Memory of a card as tensors, and copies of it.

#include "card.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

namespace pretend {

at::Tensor seen_by_kernel(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.device().is_cuda()) {
        return tensor;
    }
    const auto options = at::TensorOptions().dtype(tensor.dtype()).device(at::kCPU);
    void* address = inside(tensor.const_data_ptr());
    auto seen = at::from_blob(address, tensor.sizes(), tensor.strides(), [](void*) {}, options);
    if (tensor.is_conj()) {
        seen._set_conj(true);
    }
    return seen;
}

at::Tensor on_card(const at::Tensor& host, c10::Device device) {
    const at::Tensor tensor = at::detail::empty_strided_generic(
        host.sizes(), host.is_non_overlapping_and_dense() ? host.strides()
                                                          : host.contiguous().strides(),
        &allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA), host.scalar_type());
    TORCH_INTERNAL_ASSERT(tensor.device() == device);
    seen_by_kernel(tensor).copy_(host);
    return tensor;
}

std::uint64_t bytes(const at::Tensor& tensor) {
    std::uint64_t count = tensor.element_size();
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
        count *= tensor.stride(d) == 0 ? std::min<std::int64_t>(tensor.size(d), 1) : tensor.size(d);
    }
    return count;
}

std::vector<const void*> addresses(const std::vector<at::Tensor>& tensors) {
    std::vector<const void*> all;
    for (const auto& tensor : tensors) {
        if (tensor.device().is_cuda() && tensor.numel() > 0) {
            all.push_back(tensor.const_data_ptr());
        }
    }
    return all;
}

void put(at::Tensor to, const at::Tensor& from) { to.copy_(from); }

namespace {

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/, std::optional<c10::Device> device,
                 std::optional<bool> /*pinned*/, std::optional<at::MemoryFormat> format) {
    const auto here = device.value_or(c10::Device(CUDA, current_card()));
    const OnItsCard card(here.has_index() ? here : c10::Device(CUDA, current_card()));
    return at::detail::empty_generic_symint(
        size, &allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
        c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                         std::optional<c10::Device> device, std::optional<bool> /*pinned*/) {
    const auto here = device.value_or(c10::Device(CUDA, current_card()));
    const OnItsCard card(here.has_index() ? here : c10::Device(CUDA, current_card()));
    return at::detail::empty_strided_symint_generic(
        size, stride, &allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
        c10::dtype_or_default(dtype));
}

void copy_on_card(const at::Tensor& to, const at::Tensor& from) {
    keep_before(to);
    Cost cost;
    cost.kernel = "aten::copy_";
    cost.read = bytes(from);
    cost.written = bytes(to);
    const auto read = addresses({from});
    const auto written = addresses({to});
    launch(cost.kernel, read, written);
    const auto target = seen_by_kernel(to);
    const auto source = seen_by_kernel(from);
    put(target, source);
    if (is_recording()) {
        record({[target, source] { put(target, source); }, cost, read, written}, {});
    } else {
        count(cost);
    }
}

// Between host and card; the host waits unless its memory is pinned and it said that it will not.
void copy_across(const at::Tensor& to, const at::Tensor& from, bool later) {
    not_while_recording("a copy between host and device");
    const auto& host = to.device().is_cuda() ? from : to;
    count_call(to.device().is_cuda() ? "(to the card)" : "(to the host)");
    launch("a copy", addresses({from}), addresses({to}));
    if (later && is_pinned(host.storage().data())) {
        // A card reads pinned memory when it gets there, and writes what the source was then.
        const bool up = to.device().is_cuda();
        if (!up) {
            std::memset(to.mutable_data_ptr(), 0xFF, bytes(to));
        }
        copy_later(to, up ? from : seen_by_kernel(from).clone());
        return;
    }
    put(seen_by_kernel(to), seen_by_kernel(from));
    wait_for_stream("a copy between host and device");
}

at::Tensor& copy_(at::Tensor& to, const at::Tensor& from, bool later) {
    if (copies_wait()) {
        finish_copies();
    }
    if (to.numel() == 0) {
        return to;
    }
    if (to.device().is_cuda() && from.device().is_cuda()) {
        const OnItsCard card(from.device());
        copy_on_card(to, from.sizes() == to.sizes() ? from : from.expand_as(to));
    } else {
        const OnItsCard card(to.device().is_cuda() ? to.device() : from.device());
        copy_across(to, from.sizes() == to.sizes() ? from : from.expand_as(to), later);
    }
    return to;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool later) {
    at::Tensor target = to;
    return copy_(target, from, later);
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
    to.resize_(from.sizes());
    return copy_from(from, to, false);
}

at::Scalar number(const at::Tensor& tensor) {
    const OnItsCard card(tensor.device());
    count_call("(to the host)");
    wait_for_stream("the host reads a number");
    return seen_by_kernel(tensor).item();
}

const at::Tensor& resize_(const at::Tensor& self, c10::SymIntArrayRef size,
                          std::optional<at::MemoryFormat> /*format*/) {
    const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
    const auto count = c10::multiply_integers(sizes) + self.storage_offset();
    const auto needed = std::size_t(count) * self.element_size();
    auto* storage = self.storage().unsafeGetStorageImpl();
    if (storage->nbytes() < needed) {
        const OnItsCard card(self.device());
        auto memory = allocator().allocate(needed);
        if (storage->nbytes() > 0) {
            std::memcpy(inside(memory.get()), inside(storage->data()), storage->nbytes());
        }
        storage->set_data_ptr_noswap(std::move(memory));
        storage->set_nbytes(needed);
    }
    self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    return self;
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("copy_", copy_);
    m.impl("_copy_from", copy_from);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
    m.impl("_local_scalar_dense", number);
    m.impl("resize_", resize_);
    m.impl("as_strided", [](const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride,
                            std::optional<std::int64_t> offset) {
        return at::native::as_strided_tensorimpl(self, size, stride, offset);
    });
    m.impl("_reshape_alias", [](const at::Tensor& self, at::IntArrayRef size,
                                at::IntArrayRef stride) {
        return at::native::as_strided_tensorimpl(self, size, stride, std::nullopt);
    });
    m.impl("view", [](const at::Tensor& self, at::IntArrayRef size) {
        return at::native::view(self, size);
    });
}

}  // namespace
}  // namespace pretend
