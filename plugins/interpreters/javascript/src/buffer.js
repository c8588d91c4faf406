// The part of `Buffer` that programs which read and write text use.

import { decode, encode } from './text.js';

const DIGITS = /^[0-9a-f]{2}$/i;

export class Buffer extends Uint8Array {
  static from(value, encoding = 'utf8') {
    if (typeof value !== 'string') {
      return value instanceof ArrayBuffer ? new Buffer(value) : super.from(value);
    }
    return super.from(bytesOf(value, encoding));
  }

  static alloc(size, fill = 0) { return new Buffer(size).fill(fill); }
  static allocUnsafe(size) { return new Buffer(size); }
  static isBuffer(value) { return value instanceof Buffer; }
  static byteLength(text, encoding) { return bytesOf(text, encoding).length; }

  static concat(list) {
    const all = new Buffer(list.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of list) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  toString(encoding = 'utf8', start = 0, end = this.length) {
    const bytes = this.subarray(start, end);
    switch (String(encoding).toLowerCase()) {
      case 'hex': return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
      case 'base64': return btoa(latin1(bytes));
      case 'base64url': return btoa(latin1(bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
      case 'latin1': case 'binary': return latin1(bytes);
      case 'ascii': return latin1(bytes.map((byte) => byte & 127));
      default: return decode(bytes);
    }
  }

  toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
  equals(other) { return this.length === other.length && this.every((byte, i) => byte === other[i]); }
  slice(start, end) { return this.subarray(start, end); }
  readUInt8(at = 0) { return this[at]; }
  writeUInt8(value, at = 0) { this[at] = value; return at + 1; }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    const shown = Array.from(this.subarray(0, 50), (byte) => byte.toString(16).padStart(2, '0'));
    const rest = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}` : '';
    return `<Buffer ${shown.join(' ')}${rest}>`;
  }
}

const latin1 = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');

function bytesOf(text, encoding = 'utf8') {
  switch (String(encoding).toLowerCase()) {
    case 'hex': return (text.match(/../g) ?? []).filter((pair) => DIGITS.test(pair)).map((pair) => parseInt(pair, 16));
    case 'base64': case 'base64url': {
      const standard = text.replace(/-/g, '+').replace(/_/g, '/').replace(/[^A-Za-z0-9+/]/g, '');
      return Array.from(atob(standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')), (c) => c.charCodeAt(0));
    }
    case 'latin1': case 'binary': case 'ascii': return Array.from(text, (c) => c.charCodeAt(0) & 255);
    default: return encode(text);
  }
}
