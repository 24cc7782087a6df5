/** A host that has no configuration: its user writes the program. */
export interface SdkCode {
  readonly title: string
  /** What goes into the program. */
  readonly lines: readonly string[]
}

export const SDK_CODE: ReadonlyMap<string, SdkCode> = new Map([
  [
    'claude-agent-sdk',
    {
      title: 'the Claude Agent SDK',
      lines: [
        "import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'",
        "import { traceQuery } from 'hookspan/claude-agent-sdk'",
        'const query = traceQuery(plainQuery)',
      ],
    },
  ],
  [
    'openai-agents',
    {
      title: 'the OpenAI Agents SDK',
      lines: [
        "import { addTraceProcessor } from '@openai/agents'",
        "import { createTraceProcessor } from 'hookspan/openai-agents'",
        'addTraceProcessor(createTraceProcessor())',
      ],
    },
  ],
  [
    'ai-sdk',
    {
      title: 'the AI SDK',
      lines: [
        "import { registerTelemetry } from 'ai'",
        "import { createTelemetry } from 'hookspan/ai-sdk'",
        'registerTelemetry(createTelemetry())',
      ],
    },
  ],
])
