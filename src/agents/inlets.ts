import { claudeCode } from './claude-code/inlet.ts'
import { codex } from './codex/inlet.ts'
import { copilot, copilotSpans } from './copilot/inlet.ts'
import { cursor } from './cursor/inlet.ts'
import { gemini } from './gemini/inlet.ts'
import { hermes } from './hermes/inlet.ts'
import { hookRecords } from './hook-records.ts'
import type { ReceiverAdapter } from './inlet.ts'
import { qwen } from './qwen/inlet.ts'

/** An endpoint of the receiver. */
export interface InletRow {
  /** The agent that sends to this endpoint. If empty, each record may name its own. */
  readonly host: string
  readonly inlet: ReceiverAdapter
  /** For OTLP spans: the names of the services or tracers to accept. */
  readonly services?: readonly string[]
}

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
