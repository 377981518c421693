// Recall before each prompt and capture after each reply, for opencode, which has plugins instead of hooks.
// Written by memslot; `memslot hook opencode EVENT` does the work.
import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMAND = ["memslot-hook"]
const VARIABLES = {}
const SECONDS = 15

const data = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const database = process.env.OPENCODE_DB || join(data, "opencode", "opencode.db")

export const Memslot = async ({ directory }) => {
  const options = { cwd: directory, env: { ...process.env, ...VARIABLES }, timeout: SECONDS * 1000 }
  const command = (event) => [COMMAND[0], [...COMMAND.slice(1), "opencode", event]]
  const payload = (sessionID, more) =>
    JSON.stringify({ session_id: sessionID, transcript_path: database, cwd: directory, ...more })
  const started = new Set()

  // The context that memslot gives at an event. A failure is no context.
  const recall = (event, sessionID, more) =>
    new Promise((resolve) => {
      const child = spawn(...command(event), { ...options, stdio: ["pipe", "pipe", "ignore"] })
      let answer = ""
      child.stdout.on("data", (piece) => (answer += piece))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(""))
      child.on("close", () => {
        try {
          resolve(JSON.parse(answer).hookSpecificOutput.additionalContext)
        } catch {
          resolve("")
        }
      })
      child.stdin.end(payload(sessionID, more))
    })

  // Waits, because opencode may exit as soon as a turn has ended.
  const tell = (event, sessionID, more) =>
    spawnSync(...command(event), { ...options, input: payload(sessionID, more), stdio: ["pipe", "ignore", "ignore"] })

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n")
      const asked = [recall("prompt", sessionID, { prompt })]
      if (!started.has(sessionID)) asked.unshift(recall("session-start", sessionID, {}))
      started.add(sessionID)
      const contexts = await Promise.all(asked)
      contexts.filter(Boolean).forEach((text, index) => {
        const id = `prt_${message.id.slice(4)}memslot${index}`
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      })
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      tell("pre-compact", sessionID, { trigger: "auto" })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") tell("stop", event.properties.sessionID, {})
      if (event.type === "session.deleted") tell("session-end", event.properties.info.id, {})
    },
  }
}
