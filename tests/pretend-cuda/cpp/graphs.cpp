// CUDA graphs. While one is recorded nothing takes effect: what kernels changed is put back at the
// end, and what they made is poisoned. A replay does all of it again at the same addresses, whoever
// may have them by then.

#include "card.h"

#include <c10/util/Exception.h>

#include <cstring>

namespace pretend {
namespace {

struct Tape {
    std::vector<Work> work;
    // What lay where outside of the graph's own memory before it was recorded.
    std::vector<std::pair<char*, std::vector<char>>> before;
    std::map<char*, std::size_t> known;
    std::vector<std::pair<void*, std::size_t>> made;
};

std::map<const void*, Tape> tapes;
thread_local Tape* recording = nullptr;
thread_local c10::StreamId stream = 0;

Tape& tape_of(const void* graph) {
    const Locked locked(mutex());
    return tapes[graph];
}

// First and last byte of a tensor, as kernels see them.
std::pair<char*, std::size_t> span(const at::Tensor& tensor) {
    std::size_t last = 0;
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
        if (tensor.size(d) == 0) {
            return {nullptr, 0};
        }
        last += std::size_t((tensor.size(d) - 1) * tensor.stride(d));
    }
    return {static_cast<char*>(inside(tensor.const_data_ptr())),
            (last + 1) * tensor.element_size()};
}

}  // namespace

bool is_recording() { return recording != nullptr; }

void not_while_recording(const std::string& what) {
    TORCH_CHECK(recording == nullptr,
                "CUDA error: operation not permitted when stream is capturing: ", what);
}

void keep_before(const at::Tensor& tensor) {
    const auto [start, size] = span(tensor);
    if (recording == nullptr || size == 0) {
        return;
    }
    std::size_t& known = recording->known[start];
    if (known < size) {
        recording->before.emplace_back(start, std::vector<char>(start, start + size));
        known = size;
    }
}

void record(Work work, const std::vector<at::Tensor>& made) {
    for (const auto& tensor : made) {
        recording->made.push_back(span(tensor));
    }
    recording->work.push_back(std::move(work));
}

namespace {

void undo(Tape& tape) {
    // Of copies that overlap the first is right.
    for (auto kept = tape.before.rbegin(); kept != tape.before.rend(); ++kept) {
        std::memcpy(kept->first, kept->second.data(), kept->second.size());
    }
    for (const auto& [start, size] : tape.made) {
        std::memset(start, 0xFF, size);
    }
    tape.before.clear();
    tape.known.clear();
    tape.made.clear();
}

void begin(const void* graph) {
    TORCH_CHECK(recording == nullptr, "CUDA error: a graph is being recorded already");
    TORCH_CHECK(current_stream().id() != 0,
                "CUDA graphs must be captured on a non-default stream.");
    count_call("(recording)");
    recording = &tape_of(graph);
    stream = current_stream().id();
    take_from(graph);
}

void end(const void* graph) {
    TORCH_CHECK(recording == &tape_of(graph), "CUDA error: nothing is being recorded");
    TORCH_CHECK(stream == current_stream().id(),
                "Capture must end on the same stream it began on.");
    recording = nullptr;
    take_from(nullptr);
    undo(tape_of(graph));
}

void replay(const void* graph) {
    not_while_recording("a replay");
    count_call("(replay)");
    for (const Work& work : tape_of(graph).work) {
        launch(work.cost.kernel, work.read, work.written);
        count(work.cost);
        work.again();
    }
}

void forget(const void* graph) {
    {
        const Locked locked(mutex());
        tapes.erase(graph);
    }
    give_back(graph);
}

}  // namespace
}  // namespace pretend

// The members of `at::cuda::CUDAGraph` that programs without CUDA's headers look up by name.
#define MEMBER(name) __asm__(name) __attribute__((visibility("default")))
extern "C" {
void pretend_graph_new(void* graph, bool keep) MEMBER("_ZN2at4cuda9CUDAGraphC1Eb");
void pretend_graph_begin(void* graph, c10::MempoolId_t pool, int mode) MEMBER(
    "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
void pretend_graph_end(void* graph) MEMBER("_ZN2at4cuda9CUDAGraph11capture_endEv");
void pretend_graph_replay(void* graph) MEMBER("_ZN2at4cuda9CUDAGraph6replayEv");
void pretend_graph_delete(void* graph) MEMBER("_ZN2at4cuda9CUDAGraphD1Ev");

void pretend_graph_new(void* graph, bool /*keep*/) { pretend::tape_of(graph); }
void pretend_graph_begin(void* graph, c10::MempoolId_t /*pool*/, int /*mode*/) {
    pretend::begin(graph);
}
void pretend_graph_end(void* graph) { pretend::end(graph); }
void pretend_graph_replay(void* graph) { pretend::replay(graph); }
void pretend_graph_delete(void* graph) { pretend::forget(graph); }
}
