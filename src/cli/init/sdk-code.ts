import { dirname } from 'node:path'
import { packageFile } from '../package-folder.ts'
import { quoted } from './hooks-host.ts'

export interface SdkCode {
  readonly title: string
  readonly package: string
  readonly manifests: readonly string[]
  readonly lines: readonly string[]
  /** The commands to install and remove the adapter. @throws Error if this copy of hookspan lacks it */
  readonly install?: { add(folder: string): string; readonly remove: string }
}

const NODE = ['package.json']

const SDKS: Readonly<Record<string, SdkCode>> = {
  'claude-agent-sdk': {
    title: 'the Claude Agent SDK',
    package: '@anthropic-ai/claude-agent-sdk',
    manifests: NODE,
    lines: [
      "import { query as plainQuery } from '@anthropic-ai/claude-agent-sdk'",
      "import { traceQuery } from 'hookspan/claude-agent-sdk'",
      'const query = traceQuery(plainQuery)',
    ],
  },
  'openai-agents': {
    title: 'the OpenAI Agents SDK',
    package: '@openai/agents',
    manifests: NODE,
    lines: [
      "import { addTraceProcessor } from '@openai/agents'",
      "import { createTraceProcessor } from 'hookspan/openai-agents'",
      'addTraceProcessor(createTraceProcessor())',
    ],
  },
  'ai-sdk': {
    title: 'the AI SDK',
    package: 'ai',
    manifests: NODE,
    lines: [
      "import { registerTelemetry } from 'ai'",
      "import { createTelemetry } from 'hookspan/ai-sdk'",
      'registerTelemetry(createTelemetry())',
    ],
  },
  locus: {
    title: 'Locus',
    package: 'locus-sdk',
    manifests: ['pyproject.toml', 'requirements.txt'],
    lines: ['from hookspan_locus import create_hook', 'agent = Agent(..., hooks=[create_hook()])'],
    install: {
      add: folder => `pip install ${quoted(dirname(packageFile(folder, 'integrations', 'locus', 'pyproject.toml')))}`,
      remove: 'pip uninstall hookspan-locus',
    },
  },
}

export const SDK_CODE: ReadonlyMap<string, SdkCode> = new Map(Object.entries(SDKS))

export function linesOf({ lines, install }: SdkCode, folder: string, isUndo: boolean): readonly string[] {
  if (install === undefined) return lines
  const where = 'in the environment of your agents'
  if (isUndo) return [...lines, `# then, ${where}: ${install.remove}`]
  return [`# first, ${where}: ${install.add(folder)}`, ...lines]
}
