// What lies on a card. The host sees addresses of its own range, which may not be read or written;
// kernels see the same bytes further up.

#include "card.h"

#include <c10/util/Exception.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>

namespace pretend {
namespace {

constexpr std::size_t RANGE = std::size_t{1} << 37;
constexpr std::size_t MOST_CARDS = 8;
constexpr std::size_t ROUNDED = 512;
// Not a number in any type of numbers, and no index.
constexpr int POISON = 0xFF;

std::size_t setting(const char* name, std::size_t otherwise) {
    const char* said = std::getenv(name);
    return said ? std::strtoull(said, nullptr, 10) : otherwise;
}

// Two ranges of addresses for all cards: the host's, and that of kernels.
struct Ranges {
    char* host;
    char* kernels;
    Ranges() {
        const std::size_t size = RANGE * MOST_CARDS;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        host = static_cast<char*>(mmap(nullptr, size, PROT_NONE, flags, -1, 0));
        kernels = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0));
        TORCH_CHECK(host != MAP_FAILED && kernels != MAP_FAILED, "no room for a pretended card");
    }
    bool has(const void* address, const char* start) const {
        const auto* at = static_cast<const char*>(address);
        return at >= start && at < start + RANGE * MOST_CARDS;
    }
};

const Ranges& ranges() {
    static const Ranges ranges;
    return ranges;
}

struct Block {
    std::size_t size;
    bool taken;
    // The stream it was taken on, and the graph it stays with.
    std::int64_t stream;
    const void* graph;
    History history;
};

struct Card {
    std::map<std::size_t, Block> blocks;
    // Those that are free, by size.
    std::set<std::pair<std::size_t, std::size_t>> free;
    std::size_t end = 0;
    std::size_t current = 0;
    std::size_t peak = 0;
};

std::array<Card, MOST_CARDS> all_cards;
thread_local const void* recorded = nullptr;

// Bytes that another program took of every card after it was asked what is free: `PRETEND_TAKEN`.
std::size_t taken() {
    static const std::size_t taken = setting("PRETEND_TAKEN", 0);
    return taken;
}

// Bytes of every card: `PRETEND_MEMORY`, 16 GiB unless it is said.
std::size_t& total() {
    static std::size_t total = setting("PRETEND_MEMORY", std::size_t{16} << 30);
    return total;
}

std::string in_units(std::size_t bytes) {
    const bool large = bytes >= (std::size_t{1} << 30);
    std::array<char, 32> text{};
    const double unit = large ? 1 << 30 : 1 << 20;
    std::snprintf(text.data(), text.size(), "%.2f %s", double(bytes) / unit, large ? "GiB" : "MiB");
    return text.data();
}

// As libtorch says it.
void refuse(const Card& card, c10::DeviceIndex index, std::size_t size) {
    TORCH_CHECK_WITH(
        OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", in_units(size), ". GPU ",
        int(index), " has a total capacity of ", in_units(total()), " of which ",
        in_units(total() - std::min(total(), card.current + taken())), " is free.");
}

// A free block may be taken again on the stream that had it, and on others once all is over that
// was done with it; what a graph holds, by that graph alone.
bool suits(const Block& block, std::int64_t stream) {
    if (block.graph != recorded) {
        return false;
    }
    return block.stream == stream || is_over(block.history);
}

std::size_t take(Card& card, c10::DeviceIndex index, std::size_t size) {
    const std::int64_t stream = current_stream().id();
    auto found = card.free.lower_bound({size, 0});
    while (found != card.free.end() && !suits(card.blocks[found->second], stream)) {
        ++found;
    }
    if (found == card.free.end()) {
        if (card.current + size + taken() > total() || card.end + size > RANGE) {
            refuse(card, index, size);
        }
        const std::size_t at = card.end;
        card.end += size;
        card.blocks[at] = Block{size, true, stream, recorded, {}};
        card.current += size;
        return at;
    }
    const std::size_t at = found->second;
    Block& block = card.blocks[at];
    // What a graph holds counts as taken all the time.
    if (block.graph == nullptr && card.current + size + taken() > total()) {
        refuse(card, index, size);
    }
    card.free.erase(found);
    if (block.stream != stream) {
        block.history = {};
    }
    if (block.size > size) {
        Block rest = block;
        rest.size -= size;
        card.blocks[at + size] = rest;
        card.free.insert({rest.size, at + size});
        block.size = size;
    }
    block.taken = true;
    block.stream = stream;
    card.current += block.graph == nullptr ? size : 0;
    return at;
}

// Put free neighbours of the same stream together.
void merge(Card& card, std::map<std::size_t, Block>::iterator block) {
    const auto next = std::next(block);
    if (next == card.blocks.end() || next->second.taken || block->second.taken ||
        next->first != block->first + block->second.size ||
        next->second.stream != block->second.stream || next->second.graph != block->second.graph) {
        return;
    }
    card.free.erase({block->second.size, block->first});
    card.free.erase({next->second.size, next->first});
    join(block->second.history.written, next->second.history.written);
    join(block->second.history.read, next->second.history.read);
    block->second.size += next->second.size;
    card.blocks.erase(next);
    card.free.insert({block->second.size, block->first});
}

void release(Card& card, std::size_t at) {
    const auto block = card.blocks.find(at);
    block->second.taken = false;
    card.free.insert({block->second.size, at});
    card.current -= block->second.graph == nullptr ? block->second.size : 0;
    merge(card, block);
    if (block != card.blocks.begin()) {
        merge(card, std::prev(block));
    }
}

std::pair<Card*, std::size_t> place(const void* address) {
    const auto offset = std::size_t(static_cast<const char*>(address) - ranges().host);
    return {&all_cards[offset / RANGE], offset % RANGE};
}

void free_on_card(void* address) {
    if (address == nullptr) {
        return;
    }
    const Locked locked(mutex());
    const auto [card, at] = place(address);
    // While a graph is recorded, what it holds is still to be filled in the order of the recording.
    if (!is_recording()) {
        std::memset(inside(address), POISON, card->blocks[at].size);
    }
    release(*card, at);
}

struct OnCard final : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::DeviceIndex index = current_card();
        const c10::Device device(CUDA, index);
        if (bytes == 0) {
            return {nullptr, nullptr, &free_on_card, device};
        }
        const std::size_t size = (bytes + ROUNDED - 1) / ROUNDED * ROUNDED;
        const Locked locked(mutex());
        Card& card = all_cards[index];
        const std::size_t at = take(card, index, size);
        card.peak = std::max(card.peak, card.current);
        void* address = ranges().host + RANGE * index + at;
        // Nobody may rely on zeros.
        std::memset(inside(address), POISON, size);
        return {address, address, &free_on_card, device};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_on_card; }
    void copy_data(void* to, const void* from, std::size_t size) const override {
        std::memcpy(inside(to), inside(from), size);
    }
};

OnCard on_cards;
REGISTER_ALLOCATOR(CUDA, &on_cards);

std::set<const void*> pinned;

void free_pinned(void* address) {
    {
        const Locked locked(mutex());
        pinned.erase(address);
    }
    std::free(address);
}

struct Pinned final : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) override {
        void* address = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
        const Locked locked(mutex());
        pinned.insert(address);
        return {address, address, &free_pinned, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
    void copy_data(void* to, const void* from, std::size_t size) const override {
        std::memcpy(to, from, size);
    }
};

// A touch of the host's range says what it was before the program ends.
struct sigaction before_us;

void fault(int number, siginfo_t* info, void* context) {
    if (ranges().has(info->si_addr, ranges().host)) {
        constexpr char said[] = "pretend-cuda: the host touched a card's memory by its address\n";
        const auto written = write(STDERR_FILENO, said, sizeof said - 1);
        (void)written;
        std::signal(number, SIG_DFL);
        return;
    }
    if ((before_us.sa_flags & SA_SIGINFO) != 0 && before_us.sa_sigaction != nullptr) {
        before_us.sa_sigaction(number, info, context);
    } else {
        sigaction(number, &before_us, nullptr);
    }
}

struct Guarded {
    Guarded() {
        ranges();
        struct sigaction ours {};
        ours.sa_sigaction = fault;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGSEGV, &ours, &before_us);
    }
} guarded;

}  // namespace

std::recursive_mutex& mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

c10::DeviceIndex cards() {
    static const auto count = c10::DeviceIndex(std::min(setting("PRETEND_GPUS", 2), MOST_CARDS));
    return count;
}

c10::Allocator& allocator() { return on_cards; }

c10::Allocator& pinned_allocator() {
    static Pinned pinned;
    return pinned;
}

void* inside(const void* address) {
    const auto& [host, kernels] = ranges();
    return ranges().has(address, host) ? kernels + (static_cast<const char*>(address) - host)
                                       : const_cast<void*>(address);
}

bool is_inside(const void* address) { return ranges().has(address, ranges().kernels); }

void* outside(const void* address) {
    return ranges().host + (static_cast<const char*>(address) - ranges().kernels);
}

bool is_pinned(const void* address) {
    const Locked locked(mutex());
    return pinned.count(address) > 0;
}

History* history_of(const void* address) {
    const void* seen = is_inside(address) ? outside(address) : address;
    if (!ranges().has(seen, ranges().host)) {
        return nullptr;
    }
    const Locked locked(mutex());
    const auto [card, at] = place(seen);
    const auto after = card->blocks.upper_bound(at);
    return after == card->blocks.begin() ? nullptr : &std::prev(after)->second.history;
}

Memory memory(c10::DeviceIndex card) {
    const Locked locked(mutex());
    return {all_cards[card].current, all_cards[card].peak, total()};
}

void forget_peaks() {
    const Locked locked(mutex());
    for (auto& card : all_cards) {
        card.peak = card.current;
    }
}

void limit(std::size_t bytes) {
    const Locked locked(mutex());
    total() = bytes;
}

void take_from(const void* graph) { recorded = graph; }

void give_back(const void* graph) {
    const Locked locked(mutex());
    for (auto& card : all_cards) {
        for (auto& [at, block] : card.blocks) {
            if (block.graph == graph) {
                block.graph = nullptr;
                card.current -= block.taken ? 0 : block.size;
            }
        }
    }
}

}  // namespace pretend
