import { claudeCode } from './claude-code.ts'
import { gemini } from './gemini.ts'
import { hermes, hermesWebhook } from './hermes.ts'
import { codex, copilot, cursor } from './hooks-file.ts'
import { openclaw } from './openclaw.ts'
import type { HostSetup } from './plan.ts'
import { kilo, opencode, pi } from './plugin-file.ts'
import { qwen } from './qwen.ts'

/** An agent that has a configuration, and what shows that it is on this machine: its program, or its own folder. */
export interface HostRow {
  readonly setup: HostSetup
  /** Its names on the PATH; none where a program of somebody else is called the same. */
  readonly programs: readonly string[]
  /** Only a folder with this file in it is a sign: others use the folder, too. */
  readonly file?: string
  /** By which it may be set up already. */
  readonly otherWay?: HostSetup
}

/** By their names on the command line. */
export const HOSTS: ReadonlyMap<string, HostRow> = new Map<string, HostRow>([
  // A Debian package has a `pi` that computes it.
  ['pi', { setup: pi, programs: [] }],
  ['openclaw', { setup: openclaw, programs: ['openclaw'] }],
  ['opencode', { setup: opencode, programs: ['opencode'] }],
  // An editor is called `kilo`.
  ['kilo', { setup: kilo, programs: ['kilocode'] }],
  // A JavaScript engine is called so, and a relayer of blockchains, which has its `config.toml` in the same folder.
  ['hermes', { setup: hermes, programs: [], file: 'config.yaml', otherWay: hermesWebhook }],
  ['claude-code', { setup: claudeCode, programs: ['claude'] }],
  ['codex', { setup: codex, programs: ['codex'] }],
  ['cursor', { setup: cursor, programs: ['cursor', 'cursor-agent'] }],
  // AWS has one, too.
  ['copilot', { setup: copilot, programs: [] }],
  // Other programs of Google keep theirs in the same folder.
  ['gemini', { setup: gemini, programs: ['gemini'], file: 'settings.json' }],
  ['qwen', { setup: qwen, programs: ['qwen'] }],
])
