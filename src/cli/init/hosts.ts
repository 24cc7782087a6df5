import { claudeCode } from './claude-code.ts'
import { gemini } from './gemini.ts'
import { hermes, hermesWebhook } from './hermes.ts'
import { codex, copilot, cursor } from './hooks-file.ts'
import { openclaw } from './openclaw.ts'
import type { HostSetup } from './plan.ts'
import { kilo, opencode, pi } from './plugin-file.ts'
import { qwen } from './qwen.ts'

/** An agent with a configuration, detected by its program or its own folder. */
export interface HostRow {
  readonly setup: HostSetup
  /** Its program names on the PATH; empty if another program has the same name. */
  readonly programs: readonly string[]
  /** The folder is shared with other programs, so this file in it must exist. */
  readonly file?: string
  /** An alternative way of setup that may be in use. */
  readonly otherWay?: HostSetup
}

/** Agents by command-line name. */
export const HOSTS: ReadonlyMap<string, HostRow> = new Map<string, HostRow>([
  // A Debian package has a `pi` that computes the number.
  ['pi', { setup: pi, programs: [] }],
  ['openclaw', { setup: openclaw, programs: ['openclaw'] }],
  ['opencode', { setup: opencode, programs: ['opencode'] }],
  // `kilo` is also an editor.
  ['kilo', { setup: kilo, programs: ['kilocode'] }],
  // `hermes` is also a JavaScript engine and a blockchain relayer; the latter has its `config.toml` in the same folder.
  ['hermes', { setup: hermes, programs: [], file: 'config.yaml', otherWay: hermesWebhook }],
  ['claude-code', { setup: claudeCode, programs: ['claude'] }],
  ['codex', { setup: codex, programs: ['codex'] }],
  ['cursor', { setup: cursor, programs: ['cursor', 'cursor-agent'] }],
  // AWS has a `copilot`, too.
  ['copilot', { setup: copilot, programs: [] }],
  // Other Google programs use the same folder.
  ['gemini', { setup: gemini, programs: ['gemini'], file: 'settings.json' }],
  ['qwen', { setup: qwen, programs: ['qwen'] }],
])
