// Pieces of what somebody is told.

/** A picture, for `observe` to return behind the text; `data` are the file's bytes. */
export function image(mediaType, data, description) {
  return { tag: 'image', val: { mediaType, data, description } };
}

const part = (piece) => (typeof piece === 'string' ? { tag: 'text', val: piece } : piece);

/** A text, or a list of texts and images, as the contract has it. */
export function partsOf(told) {
  return (Array.isArray(told) ? told : [told]).map(part);
}

/** Parts as text, pictures by their descriptions. */
export function textOf(parts) {
  return parts.map(({ tag, val }) => (tag === 'text' ? val : val.description)).join('\n');
}

/** A seat, of a role's name or as it is. */
export function seatOf(seat) {
  return typeof seat === 'string' ? { role: seat, instance: 0 } : seat;
}

export function sameSeat(one, other) {
  return one.role === other.role && one.instance === other.instance;
}
