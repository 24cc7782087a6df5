import { join } from 'node:path'
import {
  commandFor,
  type GuardedEvents,
  guardOptions,
  hooksHost,
  powerShellCall,
  type ReceiverAccess,
} from './hooks-host.ts'
import { valueAt } from './json-config.ts'
import type { HostSetup } from './plan.ts'

interface CommandHooks {
  readonly events: readonly string[]
  /** Events that the agent need not wait for, unless a guard decides. */
  readonly async?: ReadonlySet<string>
  readonly guarded?: GuardedEvents
  readonly guardEvents?: readonly string[]
  entry(command: string, isAsync: boolean): object
}

function commandEntries(
  name: string,
  { events, async, guarded, guardEvents = [], entry }: CommandHooks,
): (receiver: ReceiverAccess) => ReadonlyMap<string, object> {
  return receiver => {
    const entryOf = (event: string): object => {
      const options = guarded === undefined ? [] : guardOptions(event, receiver.guards, guarded)
      const wantsDecision = options.some(option => option !== '--up')
      return entry(commandFor(name, receiver, options), !wantsDecision && async?.has(event) === true)
    }
    const all = receiver.guards === undefined ? events : [...events, ...guardEvents]
    return new Map(all.map(event => [event, entryOf(event)]))
  }
}

/** In seconds. A forwarder takes a tenth of a second and the start of a process. */
const TIMEOUT = 5

/** Codex reads the hooks of its home and runs those that the user has trusted (read from 0.169.0). */
export const codex: HostSetup = hooksHost({
  name: 'codex',
  title: 'Codex',
  folder: '.codex',
  variable: 'CODEX_HOME',
  file: 'hooks.json',
  isHooksFile: true,
  canGuard: true,
  entriesOf: commandEntries('codex', {
    events: [
      ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PermissionRequest', 'PostToolUse', 'SubagentStart'],
      ...['SubagentStop', 'PreCompact', 'PostCompact', 'Stop', 'Interrupt', 'SessionEnd'],
    ],
    // The result is in the rollout; the hook only triggers reading it.
    async: new Set(['PostToolUse']),
    guarded: {
      asked: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStop', 'Stop']),
      closed: new Set(['UserPromptSubmit', 'PreToolUse', 'PostToolUse']),
      first: 'SessionStart',
    },
    entry: (command, isAsync) => ({
      hooks: [{ type: 'command', command, timeout: TIMEOUT, ...(isAsync && { async: true }) }],
    }),
  }),
  notes: [
    'Codex runs no hook before you trust it. Start codex: it shows "Hooks need review"; choose "Trust all and continue".',
    'Until then, codex and codex exec run without hookspan and print no warning.',
  ],
})

/** Cursor, the editor and the CLI, according to its documentation. */
export const cursor: HostSetup = hooksHost({
  name: 'cursor',
  title: 'Cursor',
  folder: '.cursor',
  file: 'hooks.json',
  isHooksFile: true,
  head: [{ path: ['version'], value: 1 }],
  entriesOf: commandEntries('cursor', {
    // Events of a single kind of tool are left out: they would emit each call a second time.
    events: [
      ...['sessionStart', 'beforeSubmitPrompt', 'preToolUse', 'postToolUse', 'postToolUseFailure', 'subagentStart'],
      ...['subagentStop', 'afterAgentResponse', 'stop', 'sessionEnd'],
    ],
    entry: command => ({ command, timeout: TIMEOUT }),
  }),
  notes: ['Cursor loads it at its next start. It follows the documentation of Cursor and was not tested with it.'],
})

/** GitHub Copilot CLI reads every file of a folder (read from 1.0.102). Its session file has most facts. */
export const copilot: HostSetup = hooksHost({
  name: 'copilot',
  title: 'GitHub Copilot CLI',
  folder: '.copilot',
  variable: 'COPILOT_HOME',
  file: join('hooks', 'hookspan.json'),
  isHooksFile: true,
  head: [{ path: ['version'], value: 1 }],
  entriesOf: commandEntries('copilot', {
    // With this spelling, each event contains its own name.
    events: [
      ...[
        'SessionStart',
        'UserPromptSubmit',
        'PreToolUse',
        'PostToolUse',
        'PostToolUseFailure',
        'ErrorOccurred',
        'Stop',
      ],
      ...['SubagentStop', 'SessionEnd'],
    ],
    // A failing command, for example one that was removed, would deny the tool.
    entry: command => ({
      type: 'command',
      bash: `${command} || true`,
      powershell: `& ${command}; exit 0`,
      timeoutSec: TIMEOUT,
    }),
  }),
  notes: ['Copilot loads it at its next start.'],
})

/** Gemini CLI (read from 0.61.0), which supports only commands. */
export const gemini: HostSetup = hooksHost({
  name: 'gemini',
  title: 'Gemini CLI',
  folder: '.gemini',
  variable: 'GEMINI_CLI_HOME',
  below: '.gemini',
  file: 'settings.json',
  canGuard: true,
  entriesOf: commandEntries('gemini', {
    // Gemini CLI waits for a program at each event, so redundant events and those for each chunk of an answer are left out.
    events: ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd'],
    // Request events add nothing to the session file.
    guardEvents: ['BeforeModel'],
    guarded: {
      asked: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool', 'AfterAgent']),
      closed: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool']),
      first: 'SessionStart',
    },
    // On Windows, Gemini CLI runs commands in PowerShell.
    entry: command => ({
      hooks: [{ type: 'command', name: 'hookspan', command: powerShellCall(command), timeout: 1000 * TIMEOUT }],
    }),
  }),
  check(root) {
    if (valueAt(root, ['hooksConfig', 'enabled']) === false) {
      throw new Error('hooksConfig.enabled is false there: Gemini CLI runs no hook at all; take it out first')
    }
  },
})
