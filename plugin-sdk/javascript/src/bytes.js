// Text as bytes: the engine in a component has neither TextEncoder nor TextDecoder.

const BATCH = 8192;

/** The UTF-8 bytes of a string; half a surrogate pair becomes U+FFFD. */
export function utf8(text) {
  const bytes = [];
  for (const letter of text) {
    let code = letter.codePointAt(0);
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else {
      if (code < 0x10000) bytes.push(0xe0 | (code >> 12));
      else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63));
      bytes.push(0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    }
  }
  return bytes;
}

/** The bytes of a text that has only ASCII. */
export function asciiBytes(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The text of ASCII bytes. */
export function asciiText(bytes) {
  const view = bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
  let text = '';
  for (let at = 0; at < view.length; at += BATCH) {
    text += String.fromCharCode.apply(null, view.subarray(at, at + BATCH));
  }
  return text;
}
