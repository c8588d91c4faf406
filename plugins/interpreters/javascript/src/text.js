// UTF-8, which the engine itself does not offer.

const BATCH = 8192;

/** The UTF-8 bytes of a string; a lone surrogate becomes U+FFFD. */
export function encode(text) {
  const bytes = new Uint8Array(text.length * 3);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    if (code >= 0xd800 && code < 0xe000) {
      const low = code < 0xdc00 ? text.charCodeAt(i + 1) : NaN;
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i++;
      } else code = 0xfffd;
    }
    if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6);
    else {
      if (code < 0x10000) bytes[at++] = 0xe0 | (code >> 12);
      else {
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 63);
      }
      bytes[at++] = 0x80 | ((code >> 6) & 63);
    }
    bytes[at++] = 0x80 | (code & 63);
  }
  return bytes.subarray(0, at);
}

/** The string of UTF-8 bytes; what is not UTF-8 becomes U+FFFD. */
export function decode(bytes) {
  const parts = [];
  let units = [];
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i++];
    if (first < 0x80) units.push(first);
    else {
      const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2
        : first >= 0xf0 && first < 0xf5 ? 3 : 0;
      let code = first & (0x3f >> more);
      let read = 0;
      while (read < more && (bytes[i + read] & 0xc0) === 0x80) {
        code = (code << 6) | (bytes[i + read++] & 63);
      }
      const least = [0, 0, 0x800, 0x10000][more];
      const whole = more > 0 && read === more && code >= least && code < 0x110000
        && (code < 0xd800 || code >= 0xe000);
      if (whole) i += read;
      if (!whole) units.push(0xfffd);
      else if (code < 0x10000) units.push(code);
      else units.push(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    }
    if (units.length > BATCH) {
      parts.push(String.fromCharCode.apply(null, units));
      units = [];
    }
  }
  parts.push(String.fromCharCode.apply(null, units));
  return parts.join('');
}

export class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return encode(String(text)).slice(); }
}

export class TextDecoder {
  get encoding() { return 'utf-8'; }
  decode(bytes = []) {
    return decode(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
  }
}
