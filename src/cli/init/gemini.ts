import { hookAgent } from './hook-agent.ts'
import { commandFor, type GuardedEvents, guardOptions, guardsOfCommand, isCommandFor } from './hook-command.ts'
import type { HookSettings, Receiver } from './hook-settings.ts'
import { valueAt } from './json-change.ts'
import type { HostSetup } from './plan.ts'

/** A program runs for each of them, and Gemini CLI waits: none for what is said by others, or for each chunk of an answer. */
const EVENTS = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd']
const TIMEOUT_MILLIS = 5000
/** Here it waits for what hooks decide. */
const GUARDED: GuardedEvents = {
  asked: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool', 'AfterAgent']),
  closed: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool']),
  first: 'SessionStart',
}

/** Gemini CLI (read from 0.61.0), which knows commands only. */
const settings: HookSettings = {
  title: 'Gemini CLI',
  hooksOf,
  isOurs: hook => isCommandFor('gemini', (hook as { command?: unknown }).command),
  guardsOf: hook => guardsOfCommand((hook as { command?: unknown }).command),
  check,
}

export const gemini: HostSetup = hookAgent({
  settings,
  folder: '.gemini',
  variable: 'GEMINI_CLI_HOME',
  below: '.gemini',
  isByHttp: false,
})

function check(root: unknown): void {
  if (valueAt(root, ['hooksConfig', 'enabled']) === false) {
    throw new Error('hooksConfig.enabled is false there: Gemini CLI runs no hook at all; take it out first')
  }
}

/** Of a request it tells nothing that the session file does not say: it is there only where a hook may decide about it. */
function hooksOf(receiver: Receiver): ReadonlyMap<string, readonly object[]> {
  const { guards } = receiver
  const events = guards === undefined ? EVENTS : [...new Set([...EVENTS, ...GUARDED.asked])]
  return new Map(
    events.map(event => {
      const command = commandFor('gemini', receiver, guardOptions(event, guards, GUARDED))
      return [event, [{ type: 'command', name: 'hookspan', command, timeout: TIMEOUT_MILLIS }]]
    }),
  )
}
