import type { AgentHookSettings, ReceiverAccess } from './hook-agent.ts'
import { hookAgent } from './hook-agent.ts'
import { commandFor, type GuardedEvents, guardOptions, guardsOfCommand, isCommandFor } from './hook-command.ts'
import { valueAt } from './json-config.ts'
import type { HostSetup } from './plan.ts'

/** Gemini CLI waits for a program at each event, so redundant events and those for each chunk of an answer are left out. */
const EVENTS = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd']
const TIMEOUT_MILLIS = 5000
const GUARDED: GuardedEvents = {
  asked: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool', 'AfterAgent']),
  closed: new Set(['BeforeAgent', 'BeforeModel', 'BeforeTool', 'AfterTool']),
  first: 'SessionStart',
}

/** Gemini CLI (read from 0.61.0), which supports only commands. */
const settings: AgentHookSettings = {
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

/** Request events add nothing to the session file, so they are only enabled for guards. */
function hooksOf(receiver: ReceiverAccess): ReadonlyMap<string, readonly object[]> {
  const { guards } = receiver
  const events = guards === undefined ? EVENTS : [...new Set([...EVENTS, ...GUARDED.asked])]
  return new Map(
    events.map(event => {
      const command = commandFor('gemini', receiver, guardOptions(event, guards, GUARDED))
      return [event, [{ type: 'command', name: 'hookspan', command, timeout: TIMEOUT_MILLIS }]]
    }),
  )
}
