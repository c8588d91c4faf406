// What was launched, and what it moved and multiplied.

#include "card.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pretend {
namespace {

std::map<std::string, Cost> costs;

struct Report {
    ~Report() {
        if (std::getenv("PRETEND_REPORT") == nullptr) {
            return;
        }
        for (c10::DeviceIndex card = 0; card < cards(); ++card) {
            const auto memory = pretend::memory(card);
            if (memory.peak > 0) {
                std::fprintf(stderr, "pretend-cuda: card %d %zu bytes at most\n", card, memory.peak);
            }
        }
        for (const auto& [kernel, cost] : costs) {
            std::fprintf(
                stderr, "pretend-cuda: %9llu %-50s %14llu read %14llu written %16llu flops\n",
                static_cast<unsigned long long>(cost.launches), kernel.c_str(),
                static_cast<unsigned long long>(cost.read),
                static_cast<unsigned long long>(cost.written),
                static_cast<unsigned long long>(cost.flops));
        }
    }
} report;

}  // namespace

void count(const Cost& cost) {
    const Locked locked(mutex());
    const auto [found, fresh] = costs.try_emplace(cost.kernel, cost);
    if (fresh) {
        return;
    }
    found->second.launches += cost.launches;
    found->second.read += cost.read;
    found->second.written += cost.written;
    found->second.flops += cost.flops;
}

void count_call(const char* what) {
    Cost cost;
    cost.kernel = what;
    count(cost);
}

}  // namespace pretend

// For tests and `cargo xtask gpu-cost`: one line per kernel, tabs between its name, launches, bytes
// read, bytes written and floating-point operations. Returns how many bytes there are.
extern "C" std::size_t pretend_costs(char* text, std::size_t capacity) {
    const pretend::Locked locked(pretend::mutex());
    std::string all;
    for (const auto& [kernel, cost] : pretend::costs) {
        all += kernel + '\t' + std::to_string(cost.launches) + '\t' + std::to_string(cost.read) +
               '\t' + std::to_string(cost.written) + '\t' + std::to_string(cost.flops) + '\n';
    }
    if (all.size() < capacity) {
        std::memcpy(text, all.c_str(), all.size() + 1);
    }
    return all.size();
}

extern "C" void pretend_forget() {
    const pretend::Locked locked(pretend::mutex());
    pretend::costs.clear();
    pretend::forget_peaks();
}

extern "C" void pretend_memory(int card, std::size_t* current, std::size_t* peak) {
    const auto memory = pretend::memory(c10::DeviceIndex(card));
    *current = memory.current;
    *peak = memory.peak;
}

extern "C" void pretend_limit(std::uint64_t bytes) { pretend::limit(bytes); }

// The CUDA runtime's functions that programs without its headers look up by name.
extern "C" int cudaGetDevice(int* card) {
    *card = pretend::current_card();
    return 0;
}

extern "C" int cudaSetDevice(int card) {
    if (card < 0 || card >= pretend::cards()) {
        return 101;
    }
    pretend::set_card(c10::DeviceIndex(card));
    return 0;
}

extern "C" int cudaGetDeviceCount(int* count) {
    *count = pretend::cards();
    return 0;
}

extern "C" int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    const auto memory = pretend::memory(pretend::current_card());
    *total = memory.total;
    *free = memory.total - memory.current;
    return 0;
}
