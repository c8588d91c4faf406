// What no program should do to a card, done on purpose, so that tests see that it is noticed.

#include "guarded.h"

#include <ATen/ATen.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

namespace {

const c10::Device CARD(c10::DeviceType::CUDA, 0);

at::Tensor card(double value) { return at::full({4}, value, at::TensorOptions(CARD)); }

std::string number(const at::Tensor& tensor) {
    return std::to_string(tensor.cpu().flatten()[0].item<double>());
}

void wait(const c10::Stream& later, const c10::Stream& first) {
    c10::Event done(c10::DeviceType::CUDA);
    done.record(first);
    done.block(later);
}

// What is told meanwhile is told another stream.
struct Aside {
    c10::impl::VirtualGuardImpl streams{c10::DeviceType::CUDA};
    c10::Stream side = streams.getStreamFromGlobalPool(CARD);
    c10::Stream former = streams.exchangeStream(side);
    ~Aside() {
        streams.exchangeStream(former);
        wait(former, side);
    }
};

template <typename... Arguments>
void graph_member(const char* name, void* graph, Arguments... arguments) {
    using Member = void (*)(void*, Arguments...);
    reinterpret_cast<Member>(dlsym(RTLD_DEFAULT, name))(graph, arguments...);
}

// Work that is recorded on a stream of its own, and told again on it.
struct Graph {
    char memory[512];
    Graph() { graph_member("_ZN2at4cuda9CUDAGraphC1Eb", memory, false); }
    ~Graph() { graph_member("_ZN2at4cuda9CUDAGraphD1Ev", memory); }
    void begin() {
        graph_member("_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode",
                     memory, c10::MempoolId_t{0, 0}, 1);
    }
    void end() { graph_member("_ZN2at4cuda9CUDAGraph11capture_endEv", memory); }
    void replay() { graph_member("_ZN2at4cuda9CUDAGraph6replayEv", memory); }
    void record(const std::function<void()>& work) {
        begin();
        try {
            work();
        } catch (...) {
            end();
            throw;
        }
        end();
    }
};

std::string recorded(const std::function<void()>& work) {
    Graph graph;
    const Aside aside;
    wait(aside.side, aside.former);
    graph.record(work);
    return "recorded";
}

at::Tensor attend(std::int64_t width, std::int64_t keys) {
    const auto options = at::TensorOptions(CARD).dtype(at::kBFloat16);
    const auto query = at::ones({2, 1, 3, width}, options);
    const auto key = at::ones({2, 1, keys, width}, options);
    const auto bias = at::zeros({2, 1, 3, keys}, options);
    return std::get<0>(at::_scaled_dot_product_efficient_attention(query, key, key, bias, true));
}

using Rule = std::function<std::string()>;

const std::map<std::string, Rule>& rules() {
    static const std::map<std::string, Rule> all = {
        {"operands on two devices", [] { return number(card(1) + at::ones({4})); }},
        {"operands on two cards",
         [] {
             const c10::Device other(c10::DeviceType::CUDA, 1);
             return number(card(1) + at::ones({4}, at::TensorOptions(other)));
         }},
        {"a card that is not there",
         [] {
             const c10::Device other(c10::DeviceType::CUDA, 7);
             return number(at::ones({4}, at::TensorOptions(other)));
         }},
        {"memory that nobody has written", [] { return number(at::empty({4}, CARD)); }},
        {"the host reads an address",
         [] { return std::to_string(*card(1).const_data_ptr<float>()); }},
        {"a graph reads what was freed",
         [] {
             auto input = card(1);
             const auto output = card(0);
             Graph graph;
             const Aside aside;
             wait(aside.side, aside.former);
             graph.record([&] { output.copy_(input); });
             input = at::Tensor();
             graph.replay();
             return number(output);
         }},
        {"a recorded kernel takes effect",
         [] {
             const auto sum = card(1);
             Graph graph;
             const Aside aside;
             wait(aside.side, aside.former);
             graph.record([&] { sum.add_(1); });
             const std::string before = number(sum);
             graph.replay();
             return before + ", then " + number(sum);
         }},
        {"a replay of a number of the host's",
         [] {
             const auto sum = card(0);
             auto one = at::ones({});
             Graph graph;
             const Aside aside;
             wait(aside.side, aside.former);
             graph.record([&] { sum.add_(one); });
             one.fill_(5);
             graph.replay();
             return number(sum);
         }},
        {"the host reads while recording",
         [] {
             const auto tensor = card(1);
             return recorded([&] { (void)tensor.sum().item<double>(); });
         }},
        {"the host counts while recording",
         [] {
             const auto tensor = card(1);
             return recorded([&] { (void)tensor.nonzero(); });
         }},
        {"a copy from the host while recording",
         [] {
             const auto tensor = card(1);
             return recorded([&] { tensor.copy_(at::ones({4})); });
         }},
        {"the host waits while recording",
         [] {
             return recorded([] {
                 const c10::impl::VirtualGuardImpl streams(c10::DeviceType::CUDA);
                 streams.synchronizeDevice(0);
             });
         }},
        {"a replay while recording",
         [] {
             Graph other;
             return recorded([&] { other.replay(); });
         }},
        {"a recording on the default stream",
         [] {
             Graph graph;
             graph.begin();
             return std::string("recorded");
         }},
        {"another stream reads without an event",
         [] {
             const auto tensor = card(1);
             const Aside aside;
             return number(tensor + 1);
         }},
        {"another stream writes without an event",
         [] {
             const auto tensor = card(1);
             const Aside aside;
             tensor.fill_(2);
             return number(tensor);
         }},
        {"a replay without an event",
         [] {
             const auto sum = card(1);
             Graph graph;
             const Aside aside;
             wait(aside.side, aside.former);
             graph.record([&] { sum.add_(1); });
             const Aside third;
             wait(third.side, aside.side);
             sum.add_(1);
             third.streams.exchangeStream(aside.side);
             graph.replay();
             return number(sum);
         }},
        {"another stream with an event",
         [] {
             const auto tensor = card(1);
             const Aside aside;
             wait(aside.side, aside.former);
             return number(tensor + 1);
         }},
        {"pinned memory changes before its copy",
         [] {
             const auto host = at::ones({4}).pin_memory();
             const auto tensor = card(0);
             tensor.copy_(host, /*non_blocking=*/true);
             host.fill_(5);
             return number(tensor);
         }},
        {"pinned memory is read before its copy",
         [] {
             const auto host = at::ones({4}).pin_memory();
             host.copy_(card(3), /*non_blocking=*/true);
             const std::string early = std::to_string(host[0].item<double>());
             const c10::impl::VirtualGuardImpl streams(c10::DeviceType::CUDA);
             streams.synchronizeDevice(0);
             return early + ", then " + std::to_string(host[0].item<double>());
         }},
        {"heads of 12", [] { return number(attend(12, 8)); }},
        {"biases of 9 keys", [] { return number(attend(16, 9)); }},
        {"a product of whole numbers",
         [] {
             const auto whole = at::ones({2, 2}, at::TensorOptions(CARD).dtype(at::kLong));
             return number(whole.mm(whole));
         }},
        {"a kernel of the CPU's",
         [] {
             const auto query = at::ones({1, 1, 4, 8}, CARD);
             return number(std::get<0>(
                 at::_scaled_dot_product_flash_attention_for_cpu(query, query, query)));
         }},
        {"the CPU's random numbers",
         [] {
             at::manual_seed(1);
             const auto host = at::rand({4});
             at::manual_seed(1);
             return std::string(at::equal(at::rand({4}, CARD).cpu(), host) ? "equal" : "others");
         }},
        {"more memory than there is",
         [] { return number(at::zeros({std::int64_t{1} << 40}, CARD)); }},
    };
    return all;
}

}  // namespace

extern "C" int pretend_break(const char* rule, char* message, std::size_t capacity) {
    const auto found = rules().find(rule);
    if (found == rules().end()) {
        return 1;
    }
    const auto work = [&] {
        std::snprintf(message, capacity, "%s", found->second().c_str());
        return 0;
    };
    return guarded(work, 0, message, capacity);
}
