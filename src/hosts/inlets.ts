import { claudeCode } from './claude-code/inlet.ts'
import { codex } from './codex/inlet.ts'
import { copilot, copilotSpans } from './copilot/inlet.ts'
import { cursor } from './cursor/inlet.ts'
import { gemini } from './gemini/inlet.ts'
import { hermes } from './hermes/inlet.ts'
import { hookRecords } from './hook-records.ts'
import type { Inlet } from './inlet.ts'
import { qwen } from './qwen/inlet.ts'

/** An endpoint of the receiver. */
export interface InletRow {
  /** The agent whose events come in here; empty: each record may name its own. */
  readonly host: string
  readonly inlet: Inlet
  /** What comes in are spans (OTLP), of services, or of tracers in them, that go by one of these names. */
  readonly services?: readonly string[]
}

/** What agents send to the receiver, by the path that they send it to. */
export const INLETS: Readonly<Record<string, InletRow>> = {
  '/claude-code': { host: 'claude-code', inlet: claudeCode },
  '/codex': { host: 'codex', inlet: codex },
  '/cursor': { host: 'cursor', inlet: cursor },
  '/copilot': { host: 'copilot', inlet: copilot },
  '/v1/traces': { host: 'copilot', inlet: copilotSpans, services: ['github-copilot', 'github.copilot'] },
  '/v1/hooks': { host: '', inlet: hookRecords },
  '/hermes': { host: 'hermes', inlet: hermes },
  '/gemini': { host: 'gemini', inlet: gemini },
  '/qwen': { host: 'qwen', inlet: qwen },
}
