// Makes a component of a project: node build.mjs PROJECT OUTPUT
//
// The project's main module exports a class of an environment or a workflow by
// default, or a list of them. Which interfaces the component has follows from that.

import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { Environment, Workflow } from './index.js';

const TOOL = 'componentize-qjs';
const CONTRACT = 'troupe:plugin';
const VERSION = '0.2.0';

/** By which the caller knows that the tool is what is missing. */
const NO_TOOL = 69;

const [project, output] = process.argv.slice(2).map((path) => resolve(path));

/** What is said without a trace: it is not in the author's code. */
class Refused extends Error {}

try {
  await build();
} catch (error) {
  // Node.js says best itself where an author's code went wrong.
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exit(1);
}

async function build() {
  const { main = 'index.js' } = await readPackage();
  const { componentize } = tool();
  const staging = join(project, 'build');
  const { default: exported } = await import(pathToFileURL(join(project, main)).href);
  const parts = partsOf([exported].flat(), main);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  await cp(join(project, 'wit'), join(staging, 'wit'), { recursive: true });
  await writeFile(join(staging, 'wit', 'this-plugin.wit'), worldOf(parts));
  const jsPath = join(staging, 'entry.js');
  const jsSource = entryOf(parts, main);
  await writeFile(jsPath, jsSource);
  const { component } = await componentize({
    witPath: join(staging, 'wit'),
    world: 'this-plugin',
    jsSource,
    jsPath,
    moduleRoot: project,
    // The host need not know the component model's way of being asynchronous.
    sync: true,
  });
  await writeFile(output, component);
}

async function readPackage() {
  try {
    return JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
  } catch (error) {
    throw new Refused(`package.json cannot be read, whose \`main\` names the plugin's module: ${error.message.replace(/\s+/g, ' ')}`);
  }
}

/** Which class is exported as what, and what is to be imported. */
function partsOf(classes, main) {
  const place = (Base) => classes.findIndex((Class) => Class?.prototype instanceof Base);
  const [environment, workflow] = [place(Environment), place(Workflow)];
  if (environment < 0 && workflow < 0) {
    throw new Refused(`${main} exports no class of an environment or a workflow by default`);
  }
  checkClass(classes[environment], ['start', 'rules', 'observe', 'act']);
  checkClass(classes[workflow], []);
  const drawn = environment >= 0 && typeof classes[environment].prototype.render === 'function';
  const grants = new Set(classes.flatMap((Class) => Class?.description?.grants ?? []));
  return {
    exports: { environment, workflow, rendering: drawn ? environment : -1 },
    imports: ['log', ...['sandbox', 'retrieval'].filter((name) => grants.has(name))],
  };
}

function checkClass(Class, methods) {
  if (!Class) return;
  if (!Class.description) throw new Refused(`the class ${Class.name} has no \`static description\``);
  const missing = methods.find((name) => typeof Class.prototype[name] !== 'function');
  if (missing) throw new Refused(`the class ${Class.name} has no method \`${missing}\``);
}

function brought({ exports }) {
  return Object.entries(exports).filter(([, place]) => place >= 0);
}

function worldOf(parts) {
  const imports = parts.imports.map((name) => `  import ${name};\n`);
  const exports = brought(parts).map(([name]) => `  export ${name};\n`);
  return `package ${CONTRACT}@${VERSION};\n\nworld this-plugin {\n${[...imports, ...exports].join('')}}\n`;
}

function entryOf(parts, main) {
  const lines = parts.imports.map((name) => `import ${name} from '${CONTRACT}/${name}@${VERSION}';`);
  return [
    ...lines,
    `import plugin from '../${main}';`,
    `import * as component from 'troupe-plugin/component';`,
    `const classes = [plugin].flat();`,
    `Object.assign(component.imports, { ${parts.imports.join(', ')} });`,
    ...brought(parts).map(([name, place]) => `export const ${name} = component.${name}Of(classes[${place}]);`),
    '',
  ].join('\n');
}

/** The tool, as Node finds it from the project; its bindings are enough. */
function tool() {
  const { arch, platform } = process;
  const system = platform === 'linux' ? '-gnu' : '';
  const require = createRequire(join(project, 'package.json'));
  for (const name of [TOOL, `@andreiltd/${TOOL}-binding-${platform}-${arch}${system}`]) {
    try {
      return require(name);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  process.exit(NO_TOOL);
}
