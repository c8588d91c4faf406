// The parts of a pretended card, and what they ask of each other.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace pretend {

constexpr auto CUDA = c10::DeviceType::CUDA;

// Memory and streams of all cards change under one lock: each asks the other.
std::recursive_mutex& mutex();
using Locked = std::lock_guard<std::recursive_mutex>;

// ---- memory.cpp: what lies on a card

// Cards there are: `PRETEND_GPUS`, 2 unless it is said.
c10::DeviceIndex cards();
c10::Allocator& allocator();
// Where kernels find what the host sees at `address`, which it may not touch.
void* inside(const void* address);
// Whether it is an address as kernels see it.
bool is_inside(const void* address);
// The address as the host sees it of one as kernels see it.
void* outside(const void* address);
bool is_pinned(const void* address);
c10::Allocator& pinned_allocator();

struct Memory {
    std::size_t current;
    std::size_t peak;
    std::size_t total;
};
Memory memory(c10::DeviceIndex card);
void forget_peaks();
void limit(std::size_t bytes);

// Memory that is taken from now on by this thread lies with a graph, and stays with it.
void take_from(const void* graph);
// The graph is gone.
void give_back(const void* graph);

// ---- streams.cpp: what happens before what

// How far each stream was when something happened, by the number of a stream.
using Clock = std::map<std::int64_t, std::uint64_t>;
// The later of both, stream by stream.
void join(Clock& all, const Clock& more);
// Who wrote and read a block of memory last.
struct History {
    Clock written;
    Clock read;
};

// The card of this thread.
c10::DeviceIndex current_card();
void set_card(c10::DeviceIndex card);
c10::Stream current_stream();
// One more kernel on the current stream: refuses what another stream may still be busy with.
void launch(const std::string& kernel, const std::vector<const void*>& read,
            const std::vector<const void*>& written);
// The host waits for the current stream, which it may not while a graph is recorded.
void wait_for_stream(const char* why);
// Whether all that a block's history names happened before what is launched now.
bool is_over(const History& history);
// The history of the block in which this address lies, as the host or kernels see it.
History* history_of(const void* address);
// Copies that nobody has waited for yet.
void copy_later(const at::Tensor& to, const at::Tensor& from);
void finish_copies();
bool copies_wait();

// ---- cost.cpp: what it costs

struct Cost {
    std::string kernel;
    std::uint64_t launches = 1;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    std::uint64_t flops = 0;
};
void count(const Cost& cost);
// The host told the card something, or waited for it.
void count_call(const char* what);

// ---- graphs.cpp: what was recorded

bool is_recording();
// Refuses, as CUDA does, what may not be done while a graph is recorded.
void not_while_recording(const std::string& what);
// What a kernel will change, before it does.
void keep_before(const at::Tensor& tensor);
// A kernel that can be told again: it works on tensors as kernels see them.
struct Work {
    std::function<void()> again;
    Cost cost;
    std::vector<const void*> read;
    std::vector<const void*> written;
};
void record(Work work, const std::vector<at::Tensor>& made);

// ---- tensors.cpp: memory as tensors, and copies of it

// The same memory as a CPU's tensor, as kernels see it. It does not keep the memory.
at::Tensor seen_by_kernel(const at::Tensor& tensor);
// A tensor of the card for what a kernel left on the CPU.
at::Tensor on_card(const at::Tensor& host, c10::Device device);
// Bytes of different addresses.
std::uint64_t bytes(const at::Tensor& tensor);

std::vector<const void*> addresses(const std::vector<at::Tensor>& tensors);
void put(at::Tensor to, const at::Tensor& from);

struct OnItsCard {
    c10::DeviceIndex former = current_card();
    explicit OnItsCard(c10::Device device) { set_card(device.index()); }
    ~OnItsCard() { set_card(former); }
};

}  // namespace pretend
