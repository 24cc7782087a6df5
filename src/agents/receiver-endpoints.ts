import { claudeCode } from './claude-code/receiver-adapter.ts'
import { codex } from './codex/receiver-adapter.ts'
import { copilot, copilotSpans } from './copilot/receiver-adapter.ts'
import { cursor } from './cursor/receiver-adapter.ts'
import { gemini } from './gemini/receiver-adapter.ts'
import { hermes } from './hermes/receiver-adapter.ts'
import { hookRecords } from './hook-records.ts'
import { qwen } from './qwen/receiver-adapter.ts'
import type { ReceiverAdapter } from './receiver-adapter.ts'

/** If `host` is empty, each record may name its own. `services`, for OTLP spans: names of the services or tracers to accept. */
export interface ReceiverEndpoint {
  readonly host: string
  readonly adapter: ReceiverAdapter
  readonly services?: readonly string[]
}

export const RECEIVER_ENDPOINTS: Readonly<Record<string, ReceiverEndpoint>> = {
  '/claude-code': { host: 'claude-code', adapter: claudeCode },
  '/codex': { host: 'codex', adapter: codex },
  '/cursor': { host: 'cursor', adapter: cursor },
  '/copilot': { host: 'copilot', adapter: copilot },
  '/v1/traces': { host: 'copilot', adapter: copilotSpans, services: ['github-copilot', 'github.copilot'] },
  '/v1/hooks': { host: '', adapter: hookRecords },
  '/hermes': { host: 'hermes', adapter: hermes },
  '/gemini': { host: 'gemini', adapter: gemini },
  '/qwen': { host: 'qwen', adapter: qwen },
}
