// Makes the component: node build.mjs WIT-FOLDER OUTPUT

import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The package `componentize-qjs` would choose one of these, but names some that were never published.
const { arch, platform } = process;
const binding = `@andreiltd/componentize-qjs-binding-${platform}-${arch}${platform === 'linux' ? '-gnu' : ''}`;
const { componentize } = createRequire(import.meta.url)(binding);

const [witPath, output] = process.argv.slice(2);
const moduleRoot = dirname(fileURLToPath(import.meta.url));
const jsPath = join(moduleRoot, 'src', 'plugin.js');
const { component } = await componentize({
  witPath,
  world: 'interpreter-plugin',
  jsSource: await readFile(jsPath, 'utf8'),
  jsPath,
  moduleRoot,
  // Hosts need not know the component model's new way of being asynchronous.
  sync: true,
});
await writeFile(output, component);
