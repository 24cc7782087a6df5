import { AiSdkMachine } from './ai-sdk/events.ts'
import { ClaudeAgentSdkMachine } from './claude-agent-sdk/events.ts'
import { ClaudeCodeMachine } from './claude-code/events.ts'
import { CodexMachine } from './codex/events.ts'
import { CopilotMachine } from './copilot/events.ts'
import { CursorMachine } from './cursor/events.ts'
import { GeminiMachine } from './gemini/events.ts'
import type { HostMachine } from './host-event.ts'
import { OpenAiAgentsMachine } from './openai-agents/events.ts'
import { OpenClawMachine } from './openclaw/events.ts'
import { OpencodeMachine } from './opencode/events.ts'
import { PiMachine } from './pi/events.ts'
import { QwenMachine } from './qwen/events.ts'

/** Hosts with readable raw events, by the name in their hook records. */
export const MACHINES: Readonly<Record<string, () => HostMachine>> = {
  pi: () => new PiMachine(),
  openclaw: () => new OpenClawMachine(),
  opencode: () => new OpencodeMachine(),
  'claude-agent-sdk': () => new ClaudeAgentSdkMachine(),
  'claude-code': () => new ClaudeCodeMachine(),
  'openai-agents': () => new OpenAiAgentsMachine(),
  'ai-sdk': () => new AiSdkMachine(),
  codex: () => new CodexMachine(),
  cursor: () => new CursorMachine(),
  copilot: () => new CopilotMachine(),
  gemini: () => new GeminiMachine(),
  qwen: () => new QwenMachine(),
}
