// Streams, events and what they order. A card does in parallel what no event orders; here all is
// done at once, and what a card might do too early or too late is refused by name.

#include "card.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace pretend {
namespace {

thread_local c10::DeviceIndex card = 0;
thread_local std::map<c10::DeviceIndex, c10::StreamId> selected;
// What each stream has seen of all streams; what the host has waited for.
std::map<std::int64_t, Clock> streams;
Clock host;

// Streams of all cards, by one number.
std::int64_t number(c10::DeviceIndex card, c10::StreamId stream) { return (stream << 8) | card; }
std::int64_t number(const c10::Stream& stream) {
    return number(stream.device_index(), stream.id());
}

bool is_seen(const Clock& happened, const Clock& seen) {
    return std::all_of(happened.begin(), happened.end(), [&](const auto& one) {
        const auto found = seen.find(one.first);
        return found != seen.end() && found->second >= one.second;
    });
}

// The clock of a stream for what is told it now: the host tells it after all that it waited for.
Clock& now(const c10::Stream& stream) {
    Clock& clock = streams[number(stream)];
    join(clock, host);
    return clock;
}

struct Copy {
    at::Tensor to;
    at::Tensor from;
};
std::vector<Copy> copies;

struct Guard final : c10::impl::DeviceGuardImplInterface {
    using Device = c10::Device;
    using Stream = c10::Stream;
    c10::DeviceType type() const override { return CUDA; }
    Device exchangeDevice(Device device) const override {
        const Device former(CUDA, card);
        setDevice(device);
        return former;
    }
    Device getDevice() const override { return Device(CUDA, card); }
    void setDevice(Device device) const override { set_card(device.index()); }
    void uncheckedSetDevice(Device device) const noexcept override { card = device.index(); }
    Stream getStream(Device device) const override {
        return Stream(Stream::UNSAFE, device, selected[device.index()]);
    }
    Stream getDefaultStream(Device device) const override {
        return Stream(Stream::DEFAULT, device);
    }
    Stream getNewStream(Device device, int /*priority*/) const override {
        TORCH_CHECK(device.index() < cards(), "CUDA error: invalid device ordinal");
        static std::atomic<c10::StreamId> last{0};
        return Stream(Stream::UNSAFE, device, ++last);
    }
    Stream getStreamFromGlobalPool(Device device, bool /*high*/) const override {
        return getNewStream(device, 0);
    }
    Stream exchangeStream(Stream stream) const override {
        const Stream former = getStream(stream.device());
        selected[stream.device_index()] = stream.id();
        return former;
    }
    c10::DeviceIndex deviceCount() const noexcept override { return cards(); }
    void record(void** event, const Stream& stream, const c10::DeviceIndex /*card*/,
                const c10::EventFlag /*flag*/) const override {
        const Locked locked(mutex());
        if (*event == nullptr) {
            *event = new Clock;
        }
        *static_cast<Clock*>(*event) = now(stream);
        count_call("(event)");
    }
    void block(void* event, const Stream& stream) const override {
        const Locked locked(mutex());
        if (event != nullptr) {
            join(now(stream), *static_cast<Clock*>(event));
        }
    }
    void destroyEvent(void* event, const c10::DeviceIndex /*card*/) const noexcept override {
        delete static_cast<Clock*>(event);
    }
    bool queryEvent(void* event) const override {
        not_while_recording("an event is asked for");
        const Locked locked(mutex());
        return event == nullptr || is_seen(*static_cast<Clock*>(event), host);
    }
    void synchronizeEvent(void* event) const override {
        not_while_recording("the host waits for an event");
        const Locked locked(mutex());
        if (event != nullptr) {
            join(host, *static_cast<Clock*>(event));
        }
        finish_copies();
    }
    bool queryStream(const Stream& stream) const override {
        not_while_recording("a stream is asked for");
        const Locked locked(mutex());
        return is_seen(now(stream), host);
    }
    void synchronizeStream(const Stream& stream) const override {
        not_while_recording("the host waits for a stream");
        const Locked locked(mutex());
        join(host, now(stream));
        count_call("(wait)");
        finish_copies();
    }
    void synchronizeDevice(const c10::DeviceIndex /*card*/) const override {
        not_while_recording("the host waits for a card");
        const Locked locked(mutex());
        for (const auto& [stream, clock] : streams) {
            join(host, clock);
        }
        count_call("(wait)");
        finish_copies();
    }
    void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& stream) const override {
        const Locked locked(mutex());
        if (History* history = history_of(data.get())) {
            join(history->read, now(stream));
        }
    }
    double elapsedTime(void*, void*, const c10::DeviceIndex) const override { return 0.0; }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard);

struct CUDAHooks final : at::CUDAHooksInterface {
    explicit CUDAHooks(at::CUDAHooksArgs) {}
    void init() const override {}
    bool hasCUDA() const override { return true; }
    bool hasCUDART() const override { return true; }
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return cards() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        static const auto generator = at::make_generator<at::CPUGeneratorImpl>(0xCA4D);
        return generator;
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override {
        return at::make_generator<at::CPUGeneratorImpl>(0xCA4D);
    }
    c10::DeviceIndex current_device() const override { return card; }
    int getNumGPUs() const override { return cards(); }
    c10::DeviceIndex deviceCount() const override { return cards(); }
    c10::Allocator* getCUDADeviceAllocator() const override { return &allocator(); }
    c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
    bool isPinnedPtr(const void* address) const override { return is_pinned(address); }
    void deviceSynchronize(c10::DeviceIndex index) const override {
        Guard().synchronizeDevice(index);
    }
};
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks);

void ordered(const Clock& happened, const Clock& seen, const std::string& kernel,
             const char* what) {
    TORCH_CHECK(
        is_seen(happened, seen), "pretend-cuda: ", kernel, " ", what,
        " on another stream, and no event orders them");
}

}  // namespace

void join(Clock& all, const Clock& more) {
    for (const auto& [stream, time] : more) {
        all[stream] = std::max(all[stream], time);
    }
}

c10::DeviceIndex current_card() { return card; }

void set_card(c10::DeviceIndex index) {
    TORCH_CHECK(index < cards(), "CUDA error: invalid device ordinal");
    card = index < 0 ? card : index;
}

c10::Stream current_stream() { return Guard().getStream(c10::Device(CUDA, card)); }

bool is_over(const History& history) {
    const Locked locked(mutex());
    const Clock& seen = now(current_stream());
    return is_seen(history.written, seen) && is_seen(history.read, seen);
}

void launch(const std::string& kernel, const std::vector<const void*>& read,
            const std::vector<const void*>& written) {
    const Locked locked(mutex());
    const std::int64_t stream = number(current_stream());
    Clock& clock = now(current_stream());
    const std::uint64_t time = ++clock[stream];
    for (const void* address : read) {
        if (History* history = history_of(address)) {
            ordered(history->written, clock, kernel, "reads what is written");
            history->read[stream] = time;
        }
    }
    for (const void* address : written) {
        if (History* history = history_of(address)) {
            ordered(history->written, clock, kernel, "writes what is written");
            ordered(history->read, clock, kernel, "writes what is read");
            history->written = {{stream, time}};
        }
    }
}

void wait_for_stream(const char* why) {
    not_while_recording(why);
    Guard().synchronizeStream(current_stream());
}

void copy_later(const at::Tensor& to, const at::Tensor& from) {
    const Locked locked(mutex());
    copies.push_back({to, from});
}

bool copies_wait() {
    const Locked locked(mutex());
    return !copies.empty();
}

void finish_copies() {
    std::vector<Copy> due;
    {
        const Locked locked(mutex());
        due.swap(copies);
    }
    for (const auto& [to, from] : due) {
        seen_by_kernel(to).copy_(seen_by_kernel(from));
    }
}

}  // namespace pretend
