import { createAiSdkMachine } from './ai-sdk/events.ts'
import { createClaudeAgentSdkMachine } from './claude-agent-sdk/events.ts'
import { createClaudeCodeMachine } from './claude-code/events.ts'
import { createCodexMachine } from './codex/events.ts'
import { createCopilotMachine } from './copilot/events.ts'
import { createCursorMachine } from './cursor/events.ts'
import { createGeminiMachine } from './gemini/events.ts'
import type { HostMachine } from './host-event.ts'
import { createOpenAiAgentsMachine } from './openai-agents/events.ts'
import { createOpenClawMachine } from './openclaw/events.ts'
import { createOpencodeMachine } from './opencode/events.ts'
import { createPiMachine } from './pi/events.ts'
import { createQwenMachine } from './qwen/events.ts'

/** Hosts with readable raw events, by the name in their hook records. */
export const MACHINES: Readonly<Record<string, () => HostMachine>> = {
  pi: createPiMachine,
  openclaw: createOpenClawMachine,
  opencode: createOpencodeMachine,
  'claude-agent-sdk': createClaudeAgentSdkMachine,
  'claude-code': createClaudeCodeMachine,
  'openai-agents': createOpenAiAgentsMachine,
  'ai-sdk': createAiSdkMachine,
  codex: createCodexMachine,
  cursor: createCursorMachine,
  copilot: createCopilotMachine,
  gemini: createGeminiMachine,
  qwen: createQwenMachine,
}
