// Nothing may be thrown across the border to Rust: an exception becomes a message, and `failed`
// is returned.

#pragma once

#include <cstddef>
#include <cstring>
#include <exception>

template <typename Work, typename Result>
Result guarded(Work work, Result failed, char* message, std::size_t capacity) {
    const auto report = [&](const char* what) {
        std::strncpy(message, what, capacity - 1);
        message[capacity - 1] = '\0';
        return failed;
    };
    try {
        return work();
    } catch (const std::exception& error) {
        return report(error.what());
    } catch (...) {
        return report("an exception of unknown type");
    }
}
