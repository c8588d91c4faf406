// Products with weights in the order in which oneDNN reads them, which `tch` does not hand out.
// libtorch reorders a plain matrix anew for every product.
// Where that fails, there is no tensor but a message.

#include "guarded.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace {

using Pack = at::Tensor(const at::Tensor&, std::optional<std::int64_t>);
using Product = at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
    c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);

template <typename Signature>
auto find(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace

// `weight` is `[outputs, inputs]`; what is returned is a tensor of oneDNN's own layout.
extern "C" at::Tensor* troupe_pack(
    const at::Tensor* weight, std::int64_t rows, char* message, std::size_t capacity) {
    const auto work = [&] {
        static const auto pack = find<Pack>("mkldnn::_reorder_linear_weight");
        return new at::Tensor(pack.call(*weight, rows));
    };
    return guarded(work, static_cast<at::Tensor*>(nullptr), message, capacity);
}

// `[rows, inputs]` by a packed weight: `[rows, outputs]`.
extern "C" at::Tensor* troupe_packed_product(
    const at::Tensor* states, const at::Tensor* packed, char* message, std::size_t capacity) {
    const auto work = [&] {
        static const auto product = find<Product>("mkldnn::_linear_pointwise");
        return new at::Tensor(product.call(*states, *packed, std::nullopt, "none",
                                           c10::List<std::optional<at::Scalar>>(), ""));
    };
    return guarded(work, static_cast<at::Tensor*>(nullptr), message, capacity);
}
