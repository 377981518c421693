// Answers with qmd's SDK: `store.searchLex` in a process that stays. Arguments: the package's folder, the index.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packageFolder, dbPath] = process.argv.slice(2);
const { createStore } = await import(pathToFileURL(`${packageFolder}/dist/index.js`).href);
const store = await createStore({ dbPath });
for await (const question of createInterface({ input: process.stdin })) {
  console.log((await store.searchLex(question)).length);
}
await store.close();
