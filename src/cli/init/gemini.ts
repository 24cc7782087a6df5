import { hookAgent } from './hook-agent.ts'
import { commandFor, isCommandFor } from './hook-command.ts'
import type { HookSettings, Receiver } from './hook-settings.ts'
import { valueAt } from './json-change.ts'
import type { HostSetup } from './plan.ts'

/** A program runs for each of them, and Gemini CLI waits: none for what is said by others, or for each chunk of an answer. */
const EVENTS = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'Notification', 'AfterAgent', 'SessionEnd']
const TIMEOUT_MILLIS = 5000

/** Gemini CLI (read from 0.61.0), which knows commands only. */
const settings: HookSettings = {
  title: 'Gemini CLI',
  hooksOf,
  isOurs: hook => isCommandFor('gemini', (hook as { command?: unknown }).command),
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

function hooksOf(receiver: Receiver): ReadonlyMap<string, readonly object[]> {
  const command = commandFor('gemini', receiver)
  const hook = { type: 'command', name: 'hookspan', command, timeout: TIMEOUT_MILLIS }
  return new Map(EVENTS.map(event => [event, [hook]]))
}
