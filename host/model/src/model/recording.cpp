// CUDA graphs, which `tch` does not hand out: what a GPU was told to do is recorded, and told it
// again in one call. Where something fails, there is a message, and 1 or no recording.
//
// The program links only libtorch's CPU half, so members of `at::cuda::CUDAGraph` are looked up by
// name in the half that was opened at run time.

#include "guarded.h"

#include <c10/core/Allocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <dlfcn.h>

#include <cstddef>
#include <map>
#include <mutex>

namespace {

// An `at::cuda::CUDAGraph` takes 104 bytes in libtorch 2.11. Its header would say so, but needs
// CUDA's own headers.
constexpr std::size_t SIZE_OF_GRAPH = 512;
// `cudaStreamCaptureModeThreadLocal`: what other threads do meanwhile is none of its business.
constexpr int THIS_THREAD = 1;

template <typename... Arguments>
using Member = void (*)(void* graph, Arguments...);

struct Members {
    Member<bool> construct;
    Member<c10::MempoolId_t, int> begin;
    Member<> end;
    Member<> replay;
    Member<> destruct;
};

template <typename Found>
void find(Found& member, const char* name) {
    member = reinterpret_cast<Found>(dlsym(RTLD_DEFAULT, name));
    TORCH_CHECK(member != nullptr, "libtorch's CUDA half is not open or has no ", name);
}

const Members& members() {
    static const Members all = [] {
        Members all{};
        find(all.construct, "_ZN2at4cuda9CUDAGraphC1Eb");
        find(all.begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");
        find(all.end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
        find(all.replay, "_ZN2at4cuda9CUDAGraph6replayEv");
        find(all.destruct, "_ZN2at4cuda9CUDAGraphD1Ev");
        return all;
    }();
    return all;
}

// A stream beside the default one, on which nothing can be recorded. One for a device: libtorch
// keeps working memory for the matrix products of every stream.
c10::Stream beside(const c10::impl::VirtualGuardImpl& streams, c10::Device device) {
    static std::mutex mutex;
    static std::map<c10::DeviceIndex, c10::Stream> known;
    const std::lock_guard<std::mutex> guard(mutex);
    const auto found = known.find(device.index());
    if (found != known.end()) {
        return found->second;
    }
    return known.emplace(device.index(), streams.getStreamFromGlobalPool(device)).first->second;
}

// Let `later` go on only when `first` has done what it was told so far.
void wait(const c10::Stream& later, const c10::Stream& first) {
    c10::Event done(c10::DeviceType::CUDA);
    done.record(first);
    done.block(later);
}

template <typename Work>
int told(Work work, char* message, std::size_t capacity) {
    const auto done = [&] {
        work();
        return 0;
    };
    return guarded(done, 1, message, capacity);
}

}  // namespace

struct Recording {
    c10::impl::VirtualGuardImpl streams;
    c10::Stream former;
    c10::Stream side;
    alignas(std::max_align_t) unsigned char graph[SIZE_OF_GRAPH];

    explicit Recording(c10::Device device)
        : streams(c10::DeviceType::CUDA), former(streams.getStream(device)),
          side(beside(streams, device)) {
        members().construct(graph, /*keep_graph=*/false);
    }
    ~Recording() { members().destruct(graph); }
};

extern "C" Recording* troupe_recording_new(int device, char* message, std::size_t capacity) {
    const auto work = [&] {
        members();
        return new Recording(c10::Device(c10::DeviceType::CUDA, device));
    };
    return guarded(work, static_cast<Recording*>(nullptr), message, capacity);
}

extern "C" void troupe_recording_delete(Recording* recording) {
    delete recording;
}

// What this thread tells the device from here on waits for what it was told before, and can be
// recorded.
extern "C" int troupe_recording_enter(Recording* recording, char* message, std::size_t capacity) {
    const auto work = [&] {
        recording->former = recording->streams.getStream(recording->side.device());
        wait(recording->side, recording->former);
        recording->streams.exchangeStream(recording->side);
    };
    return told(work, message, capacity);
}

// Back to where this thread told the device before.
extern "C" int troupe_recording_leave(Recording* recording, char* message, std::size_t capacity) {
    const auto work = [&] {
        recording->streams.exchangeStream(recording->former);
        wait(recording->former, recording->side);
    };
    return told(work, message, capacity);
}

// Record instead of doing; between entering and leaving.
extern "C" int troupe_recording_begin(Recording* recording, char* message, std::size_t capacity) {
    const auto work = [&] { members().begin(recording->graph, {0, 0}, THIS_THREAD); };
    return told(work, message, capacity);
}

extern "C" int troupe_recording_end(Recording* recording, char* message, std::size_t capacity) {
    return told([&] { members().end(recording->graph); }, message, capacity);
}

// Do what was recorded.
extern "C" int troupe_recording_replay(Recording* recording, char* message, std::size_t capacity) {
    return told([&] { members().replay(recording->graph); }, message, capacity);
}
