// Types of `troupe-plugin`, for TypeScript and for editors.

export type Split = 'train' | 'validation' | 'test';
export type Status = 'ongoing' | 'solved' | 'failed';
export type Value = number | boolean | string;
export type Values = Record<string, any>;

export interface Seat { role: string; instance: number }
/** A seat, or the name of a role's first one. */
export type SeatLike = Seat | string;
export interface Action { kind: string; text: string }
export interface Move { seat: Seat; action: Action }
export interface Effect { accepted: boolean; feedback: string }

export interface Setting { readonly summary: string }
export function integer(summary: string, low: number, high: number, initial: number): Setting;
export function number(summary: string, low: number, high: number, initial: number): Setting;
export function flag(summary: string, initial: boolean): Setting;
/** One of several words; the first is the default. */
export function choice(summary: string, words: string[]): Setting;
export function text(summary: string, initial?: string): Setting;

/** Why a call could not be served. It voids the episode and is never a reward. */
export class Problem extends Error {
  constructor(fault: 'settings' | 'task' | 'state' | 'order' | 'internal', message: string);
  static settings(message: string): Problem;
  static task(message: string): Problem;
  static state(message: string): Problem;
  static order(message: string): Problem;
}

/** Chance that follows from a task. */
export class Random {
  constructor(split: Split, seed: number, purpose: string);
  bits(): bigint;
  below(bound: number): number;
  between(low: number, high: number): number;
  choose<T>(items: readonly T[]): T | undefined;
  shuffle<T>(items: T[]): T[];
}
/** The split that a problem belongs to. */
export function owningSplit(problem: string | Iterable<number>): Split;

export interface Image { tag: 'image'; val: { mediaType: string; data: Uint8Array; description: string } }
export type Part = { tag: 'text'; val: string } | Image;
export function image(mediaType: string, data: Uint8Array, description: string): Image;
export type Told = string | (string | Part)[];

export class Outcome {
  static accepted(feedback?: string): Outcome;
  static rejected(feedback: string): Outcome;
  effects: Effect[];
  status: Status;
  readonly feedback: string;
  team(name: string, value: number): this;
  local(name: string, value: number): this;
  seat(seat: SeatLike, name: string, value: number): this;
  solved(): this;
  failed(): this;
}

/** What each seat's last proposal was worth, and has been paid for. */
export class Proposals {
  pay(seat: Seat, worth: number): number;
}

export interface Needs { memoryMib?: number; fuel?: number }
export type Grant = 'sandbox' | 'retrieval';

export interface EnvironmentDescription {
  name: string;
  version: string;
  summary: string;
  /** Kinds of action, each with what its text must look like. */
  actions: Record<string, string>;
  settings?: Record<string, Setting>;
  workflows?: string[];
  presets?: Record<string, { summary: string; settings: Record<string, Value> }>;
  grants?: Grant[];
  needs?: Needs;
  /** Whether nothing is kept outside of the fields: forks are cheap then. */
  reusable?: boolean;
}

export interface Configuration {
  vocabulary?: string[];
  maxTurns?: number;
  isPrivate?: boolean;
  needsRecords?: boolean;
  takesRecords?: boolean;
  seats?: string[];
}

export interface Task {
  readonly split: Split;
  readonly seed: number;
  readonly settings: Values;
  readonly seats: Seat[];
  readonly entry: string | null;
  random(purpose?: string): Random;
  draw<T>(purpose: string, draw: (random: Random) => T, key?: (problem: T) => string | Iterable<number>): T;
}

export abstract class Environment {
  static description: EnvironmentDescription;
  static configure(settings: Values): Configuration;
  abstract start(task: Task): void;
  abstract rules(seat: Seat): string;
  abstract observe(seat: Seat): Told;
  abstract act(action: Action, seat: Seat): Outcome;
  actTogether(moves: Move[]): Outcome;
  demonstrate(seat: Seat): string | Action | null;
  reveal(): string | null;
  render?(): { text: string; svg: string };
  save(): Uint8Array | null;
  static restore(bytes: Uint8Array): Environment;
}

export interface View { seat: Seat | null; parts: Part[] }
export interface Reply { seat: Seat; answer: number; thread: string; text: string; said: string; complete: boolean }
export interface Consequence {
  results: { seat: Seat; accepted: boolean; feedback: string }[];
  views: View[];
  revealed: string | null;
  status: Status;
}
export interface Returned { seat: Seat; tool: string; succeeded: boolean; answer: string }
export interface Briefing {
  environment: string;
  rules: [Seat | null, string][];
  actions: { name: string; summary: string }[];
  settings: Values;
  maxTurns: number;
  tools: { name: string; summary: string; parameters: string }[];
  revealed: string | null;
}
export interface Message { author: 'system' | 'user' | 'assistant' | 'tool'; parts: Part[] }
export interface RequestOptions {
  tools?: string[];
  thread?: string;
  caller?: number;
  isOpen?: boolean;
  situation?: string;
}
export interface Request extends RequestOptions { seat: SeatLike; messages: Message[] }

export class Step {
  static ask(...requests: Request[]): Step;
  static act(seat: SeatLike, kind: string, text: string): Step;
  static actTogether(moves: Move[]): Step;
  static call(seat: SeatLike, tool: string, args: object): Step;
  static wait(): Step;
  static finish(): Step;
  credit(answer: number, name: string, value: number, isLast?: boolean): this;
}

export interface Role { summary: string; seats?: number; task?: string; message: string; acts?: boolean }
export interface WorkflowDescription {
  name: string;
  version: string;
  summary: string;
  roles: Record<string, Role>;
  settings?: Record<string, Setting>;
  actions?: string[];
  /** The tools that it calls, such as `run`, which its user has to grant. */
  tools?: string[];
  needs?: Needs;
  reusable?: boolean;
}

export abstract class Workflow {
  static description: WorkflowDescription;
  static seats(role: string, settings: Values): number | null;
  /** The kind of action that was chosen for the run. */
  kind: string;
  start(briefing: Briefing): void;
  begun(views: View[]): Step;
  replied(reply: Reply): Step;
  acted(consequence: Consequence): Step;
  returned(answers: Returned[]): Step;
  demonstrate(seat: Seat, expert: Action): string | null;
  request(seat: SeatLike, fields: Record<string, string>, more?: RequestOptions): Request;
  ask(seat: SeatLike, fields: Record<string, string>): Step;
  act(seat: SeatLike, text: string): Step;
  save(): Uint8Array | null;
  static restore(bytes: Uint8Array): Workflow;
}

/** What the seat sees, as text. */
export function seenBy(views: View[], seat: SeatLike): string;

/** What `parse` makes of the answer in a text; it throws for what it cannot read. */
export function last<T>(text: string, parse: (passage: string) => T): T;
export function marked(text: string): string | null;
export function finalAnswer(text: string): string;
export function program(text: string): string;
export function answerOf(text: string, complete?: boolean): string;
export function words(text: string): string[];

export const log: Record<'debug' | 'info' | 'warning', (line: string) => void>;
export interface Limits { fuel?: number; timeoutMs?: number; memoryMib?: number; outputBytes?: number }
export interface Execution { ending: { tag: string; val?: any }; stdout: Uint8Array; stderr: Uint8Array; fuel: number }
export const sandbox: {
  run(language: string, program: string, stdin?: Uint8Array, limits?: Limits): Execution;
  runBatch(language: string, program: string, stdins: Uint8Array[], limits?: Limits): Execution[];
};
export const retrieval: {
  search(query: string, limit?: number): { id: string; title: string; text: string; score: number }[];
};
