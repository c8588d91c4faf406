// Rewrites what the engine cannot run in one synchronous call: async functions become generators,
// and the imports of a module become calls of `require`. Lines stay where they are.

import { parse } from '../node_modules/acorn/dist/acorn.mjs';

const SUSPECT = /\b(?:async|await|import|export)\b/;

/** The source to run, and whether it is a module; a SyntaxError if it cannot be parsed. */
export function rewrite(source) {
  if (!SUSPECT.test(source)) return { source, module: false };
  const options = { ecmaVersion: 'latest', preserveParens: true, allowHashBang: true };
  let tree;
  let module = false;
  try {
    tree = parse(source, { ...options, sourceType: 'script', allowReturnOutsideFunction: true });
  } catch (error) {
    try {
      tree = parse(source, { ...options, sourceType: 'module' });
      module = true;
    } catch {
      throw new SyntaxError(error.message.replace(/ \(\d+:\d+\)$/, ` (line ${error.loc?.line})`));
    }
  }
  const edits = new Edits(source);
  visit(tree, edits, { generator: false, async: module, method: false });
  return { source: edits.apply(), module };
}

class Edits {
  #source;
  #list = [];

  constructor(source) {
    this.#source = source;
  }

  text(start, end) {
    return this.#source.slice(start, end);
  }

  insert(at, text, after = false) {
    this.#list.push({ start: at, end: at, text, order: this.#list.length, after });
  }

  replace(start, end, text) {
    this.#list.push({ start, end, text, order: this.#list.length, after: false });
  }

  /** What closes goes before what opens at the same place. */
  apply() {
    const list = this.#list.sort((a, b) => a.start - b.start || b.after - a.after || a.order - b.order);
    let result = '';
    let at = 0;
    for (const edit of list) {
      result += this.#source.slice(at, edit.start) + edit.text;
      at = Math.max(at, edit.end);
    }
    return result + this.#source.slice(at);
  }
}

function visitChildren(node, edits, place) {
  for (const key in node) {
    const child = node[key];
    if (Array.isArray(child)) {
      for (const item of child) if (item?.type) visit(item, edits, place);
    } else if (child?.type) visit(child, edits, place);
  }
}

const handlers = {
  FunctionDeclaration: visitFunction,
  FunctionExpression: visitFunction,
  ArrowFunctionExpression: visitFunction,
  MethodDefinition: visitMethod,
  Property: visitMethod,

  AwaitExpression(node, edits, place) {
    edits.replace(node.start, node.start + 5, place.generator ? '(yield $.pause(' : '(yield (');
    visitChildren(node, edits, place);
    edits.insert(node.end, '))', true);
  },

  YieldExpression(node, edits, place) {
    if (place.async && node.delegate) {
      edits.insert(node.argument.start, '$.delegate(');
      visitChildren(node, edits, place);
      edits.insert(node.argument.end, ')', true);
    } else visitChildren(node, edits, place);
  },

  ForOfStatement(node, edits, place) {
    if (!node.await) return visitChildren(node, edits, place);
    const pause = place.generator ? '$.pause' : '';
    const { left, right, body } = node;
    const id = `$${node.start}`;
    const head = edits.text(left.start, left.end);
    edits.replace(node.start, right.start, `for (let ${id} = $.iterate(`);
    visit(right, edits, place);
    const test = `), ${id}r; !(${id}r = yield ${pause}(${id}.next())).done; ) { ${head} = ${id}r.value; `;
    edits.replace(right.end, body.start, test);
    visit(body, edits, place);
    edits.insert(body.end, ' }', true);
  },

  MemberExpression(node, edits, place) {
    if (node.object.type !== 'Super' || !place.async) return visitChildren(node, edits, place);
    const [open, close] = node.computed ? ['(', ')'] : ['("', '")'];
    edits.replace(node.start, node.property.start, `$super${open}`);
    if (node.computed) visit(node.property, edits, place);
    edits.replace(node.property.end, node.end, close);
  },

  CallExpression(node, edits, place) {
    visitChildren(node, edits, place);
    if (place.async && node.callee.type === 'MemberExpression' && node.callee.object.type === 'Super') {
      const open = edits.text(node.callee.end, node.end).indexOf('(') + node.callee.end;
      edits.replace(open, open + 1, node.arguments.length ? '.call(this, ' : '.call(this');
    }
  },

  ImportDeclaration(node, edits) {
    const whole = [];
    const named = [];
    for (const { type, imported, local } of node.specifiers) {
      if (type === 'ImportSpecifier') named.push(`${imported.name ?? imported.raw}: ${local.name}`);
      else whole.push(local.name);
    }
    const call = `require(${node.source.raw})`;
    const parts = whole.map((name) => `${name} = ${call}`);
    if (named.length) parts.push(`{ ${named.join(', ')} } = ${call}`);
    const lines = edits.text(node.start, node.end).replace(/[^\n]/g, '');
    edits.replace(node.start, node.end, `${parts.length ? `const ${parts.join(', ')}` : call};${lines}`);
  },

  ExportNamedDeclaration(node, edits, place) {
    if (!node.declaration) return edits.replace(node.start, node.end, '');
    edits.replace(node.start, node.declaration.start, '');
    visit(node.declaration, edits, place);
  },

  ExportDefaultDeclaration(node, edits, place) {
    edits.replace(node.start, node.declaration.start, node.declaration.id ? '' : 'module.exports = ');
    visit(node.declaration, edits, place);
  },

  ImportExpression(node, edits, place) {
    edits.replace(node.start, node.source.start, 'Promise.resolve().then(() => require(');
    visit(node.source, edits, place);
    edits.replace(node.source.end, node.end, '))');
  },
};

function visit(node, edits, place) {
  const handler = handlers[node.type] ?? visitChildren;
  handler(node, edits, place);
}

function visitMethod(node, edits, place) {
  const method = node.method || node.type === 'MethodDefinition';
  if (method) node.value.method = true;
  if (method && node.value.async) {
    const head = edits.text(node.start, node.key.start);
    const star = head.lastIndexOf('*');
    const word = head.search(/\basync\b/);
    edits.replace(node.start + word, node.start + word + 5, '');
    if (node.value.generator) edits.replace(node.start + star, node.start + star + 1, '');
  }
  visitChildren(node, edits, place);
}

function visitFunction(node, edits, place) {
  const arrow = node.type === 'ArrowFunctionExpression';
  const method = arrow ? place.method : node.method === true;
  if (!node.async) {
    return visitChildren(node, edits, { generator: node.generator, async: false, method });
  }
  const head = edits.text(node.start, node.params[0]?.start ?? node.body.start);
  if (head.startsWith('async')) {
    edits.replace(node.start, node.start + 5, '');
    if (node.generator) {
      const star = node.start + head.indexOf('*');
      edits.replace(star, star + 1, '');
    }
  }
  for (const param of node.params) visit(param, edits, place);
  const body = { generator: node.generator, async: true, method };
  const text = edits.text(node.body.start, node.body.end);
  const passed = arrow && !/\barguments\b/.test(text) ? 'this' : 'this, arguments';
  const inherited = method && /\bsuper\b/.test(text) ? 'const $super = (name) => super[name]; ' : '';
  const open = `${inherited}return $.${node.generator ? 'asyncGenerator' : 'async'}(function* () `;
  if (node.body.type === 'BlockStatement') {
    edits.insert(node.body.start, `{ ${open}`);
    visitChildren(node.body, edits, body);
    edits.insert(node.body.end, `, ${passed}); }`, true);
  } else {
    edits.insert(node.body.start, `{ ${open}{ return `);
    visit(node.body, edits, body);
    edits.insert(node.body.end, ` }, ${passed}); }`, true);
  }
}
