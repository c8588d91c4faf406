"""`hashlib.pbkdf2_hmac`, which CPython has from OpenSSL only."""

import hashlib
import operator


def install():
    hashlib.pbkdf2_hmac = pbkdf2_hmac


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    inner, outer = _keyed(hash_name, bytes(memoryview(password)))
    salt = bytes(memoryview(salt))
    size = inner.digest_size
    length = size if dklen is None else operator.index(dklen)
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    if operator.index(iterations) < 1:
        raise ValueError("iteration value must be greater than 0.")

    def authenticated(message):
        first, second = inner.copy(), outer.copy()
        first.update(message)
        second.update(first.digest())
        return second.digest()

    blocks = []
    for number in range(1, -(-length // size) + 1):
        last = authenticated(salt + number.to_bytes(4, "big"))
        block = int.from_bytes(last, "big")
        for _ in range(iterations - 1):
            last = authenticated(last)
            block ^= int.from_bytes(last, "big")
        blocks.append(block.to_bytes(size, "big"))
    return b"".join(blocks)[:length]


pbkdf2_hmac.__module__ = "_hashlib"


def _keyed(hash_name, password):
    """The two hashes of HMAC, which have taken in the key."""
    if not isinstance(hash_name, str):
        raise TypeError("argument 'hash_name' must be str, not " + type(hash_name).__name__)
    inner, outer = hashlib.new(hash_name), hashlib.new(hash_name)
    size = inner.block_size
    if len(password) > size:
        password = hashlib.new(hash_name, password).digest()
    key = password.ljust(size, b"\0")
    inner.update(bytes(byte ^ 0x36 for byte in key))
    outer.update(bytes(byte ^ 0x5C for byte in key))
    return inner, outer
