// The program's standard streams.

import streams from 'troupe:plugin/streams@0.2.0';

import { decode, encode } from './text.js';

const CHUNK = 65536;

/** Writes text or bytes to standard output or standard error. */
export function write(to, data) {
  streams.write(to, typeof data === 'string' ? encode(data) : new Uint8Array(data));
}

/** All bytes of standard input that have not been read. */
export function readAll() {
  const parts = [];
  let size = 0;
  for (;;) {
    const part = streams.read(CHUNK);
    if (part.length === 0) break;
    parts.push(part);
    size += part.length;
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** At most `limit` bytes of standard input. */
export const readSome = (limit) => streams.read(limit);

export { decode };
