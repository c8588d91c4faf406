// libtorch's c10d, which `tch` does not hand out: a store that processes meet
// at, and a group of them over Gloo.
//
// Nothing may be thrown across the border to Rust: every exception becomes a
// message and a return value other than 0.

#include <ATen/ATen.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

struct Store {
    c10::intrusive_ptr<c10d::Store> store;
};

struct Group {
    c10::intrusive_ptr<c10d::Backend> backend;
};

namespace {

int report(const char* what, char* message, std::size_t capacity) {
    std::strncpy(message, what, capacity - 1);
    message[capacity - 1] = '\0';
    return 1;
}

template <typename Work>
int guarded(char* message, std::size_t capacity, Work work) {
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        return report(error.what(), message, capacity);
    } catch (...) {
        return report("an exception of unknown type", message, capacity);
    }
}

// The caller's memory as a tensor; of kind 0 bytes, 1 floats, 2 doubles.
at::Tensor tensor(void* data, std::int64_t count, int kind) {
    const at::ScalarType kinds[] = {at::kByte, at::kFloat, at::kDouble};
    return at::from_blob(data, {count}, at::TensorOptions().dtype(kinds[kind]));
}

}  // namespace

extern "C" {

// `listener` is a socket that listens already, or -1.
int troupe_store_open(
    const char* host, int port, int serves, int listener, const char* prefix,
    std::int64_t timeout_ms, Store** out, char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] {
        // Python's torch does it; without it TORCH_CPP_LOG_LEVEL is not looked at.
        c10::initLogging();
        c10d::TCPStoreOptions options;
        options.port = static_cast<std::uint16_t>(port);
        options.isServer = serves != 0;
        options.timeout = std::chrono::milliseconds(timeout_ms);
        // Who is there is asked by the group.
        options.waitWorkers = false;
        if (listener >= 0) {
            options.masterListenFd = listener;
        }
        c10::intrusive_ptr<c10d::Store> store =
            c10::make_intrusive<c10d::TCPStore>(std::string(host), options);
        *out = new Store{c10::make_intrusive<c10d::PrefixStore>(std::string(prefix), store)};
    });
}

// Adds to a number, which is 0 at first, and returns what it is then.
int troupe_store_add(
    Store* store, const char* key, std::int64_t amount, std::int64_t* out, char* message,
    std::size_t capacity) {
    return guarded(message, capacity, [&] { *out = store->store->add(key, amount); });
}

void troupe_store_close(Store* store) { delete store; }

// `interface` is the network interface to be reached at, `host` the address; where both are
// empty, the machine's name says it.
int troupe_group_join(
    Store* store, int rank, int world, const char* interface, const char* host,
    std::int64_t timeout_ms, Group** out, char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] {
        using Gloo = c10d::ProcessGroupGloo;
        auto options = Gloo::Options::create(std::chrono::milliseconds(timeout_ms));
        options->devices.push_back(
            *interface != '\0' ? Gloo::createDeviceForInterface(interface)
            : *host != '\0'    ? Gloo::createDeviceForHostname(host)
                               : Gloo::createDefaultDevice());
        *out = new Group{c10::make_intrusive<Gloo>(
            c10::make_intrusive<c10d::PrefixStore>("gloo", store->store), rank, world, options)};
    });
}

int troupe_group_sum(
    Group* group, void* data, std::int64_t count, int kind, char* message, std::size_t capacity) {
    return guarded(message, capacity, [&] {
        std::vector<at::Tensor> tensors{tensor(data, count, kind)};
        group->backend->allreduce(tensors)->wait();
    });
}

int troupe_group_broadcast(
    Group* group, void* data, std::int64_t count, int kind, int root, char* message,
    std::size_t capacity) {
    return guarded(message, capacity, [&] {
        std::vector<at::Tensor> tensors{tensor(data, count, kind)};
        c10d::BroadcastOptions options;
        options.rootRank = root;
        group->backend->broadcast(tensors, options)->wait();
    });
}

// `all` has room for `count` of every rank.
int troupe_group_gather(
    Group* group, void* all, void* own, std::int64_t count, int kind, char* message,
    std::size_t capacity) {
    return guarded(message, capacity, [&] {
        auto out = tensor(all, count * group->backend->getSize(), kind);
        auto in = tensor(own, count, kind);
        group->backend->_allgather_base(out, in)->wait();
    });
}

void troupe_group_leave(Group* group) { delete group; }

}  // extern "C"
