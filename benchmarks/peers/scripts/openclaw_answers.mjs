// Answers with the search manager behind `openclaw memory search`, in a process that stays: the package offers no
// command for that. Arguments: the package's folder, the config.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packageFolder, configFile] = process.argv.slice(2);
const runtime = pathToFileURL(`${packageFolder}/dist/extensions/memory-core/runtime-api.js`).href;
const { getMemorySearchManager } = await import(runtime);
const cfg = JSON.parse(readFileSync(configFile, "utf8"));
const { manager, error } = await getMemorySearchManager({ cfg, agentId: "main" });
if (!manager) throw new Error(error ?? "no memory search manager");
for await (const question of createInterface({ input: process.stdin })) {
  console.log((await manager.search(question)).length);
}
process.exit(0);
