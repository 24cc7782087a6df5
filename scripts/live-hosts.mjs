const ZOD = 'zod@4.4.3'
const PLATFORM = `${process.platform}-${process.arch}`

/** Node for the hosts that do not run on 20. */
export const NODE_VERSION = '24.21.0'

/**
 * The hosts of the live tests: the one table of versions. The captures in `test/fixtures` name them in their first lines.
 *
 * - `name`, `version`: the npm package; `also`: what is installed beside it. With `requirements`, a file of pins, it is a
 *   package of PyPI, in a virtual environment.
 * - `node`: the Node that it needs. Absent = the one that runs this.
 * - `script` for that Node, or `program`: what a user starts, in the folder. Absent = a library.
 * - `prints`: what it answers to `--version`, where that is not `version`.
 */
export const LIVE_HOSTS = {
  pi: {
    name: '@earendil-works/pi-coding-agent',
    version: '0.87.1',
    node: NODE_VERSION,
    script: 'node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js',
  },
  opencode: {
    name: 'opencode-ai',
    version: '1.18.33',
    // The program itself, for Bun. Those for other processors would come along as optional dependencies.
    also: [`opencode-${PLATFORM}@1.18.33`],
    omitsOptional: true,
    program: `node_modules/opencode-${PLATFORM}/bin/opencode`,
  },
  kilo: {
    name: '@kilocode/cli',
    version: '7.7.7',
    // As with opencode.
    also: [`@kilocode/cli-${PLATFORM}@7.7.7`],
    omitsOptional: true,
    program: `node_modules/@kilocode/cli-${PLATFORM}/bin/kilo`,
  },
  'claude-agent-sdk': {
    name: '@anthropic-ai/claude-agent-sdk',
    version: '0.3.330',
    also: [ZOD],
    // What the library starts has a version of its own.
    program: `node_modules/@anthropic-ai/claude-agent-sdk-${PLATFORM}/claude`,
    prints: '2.1.330',
  },
  'claude-code': {
    name: '@anthropic-ai/claude-code',
    version: '2.1.330',
    // The program itself. Those for other processors would come along as optional dependencies.
    also: [`@anthropic-ai/claude-code-${PLATFORM}@2.1.330`],
    omitsOptional: true,
    program: `node_modules/@anthropic-ai/claude-code-${PLATFORM}/claude`,
    prints: '2.1.330',
  },
  gemini: {
    name: '@google/gemini-cli',
    version: '0.61.0',
    // Only the program: what is optional are terminals and key stores.
    omitsOptional: true,
    script: 'node_modules/@google/gemini-cli/bundle/gemini.js',
  },
  qwen: {
    name: '@qwen-code/qwen-code',
    version: '0.24.4',
    omitsOptional: true,
    node: NODE_VERSION,
    script: 'node_modules/@qwen-code/qwen-code/cli.js',
  },
  'openai-agents': {
    name: '@openai/agents',
    version: '0.20.0',
    also: [ZOD],
  },
  'ai-sdk': {
    name: 'ai',
    version: '7.0.173',
    // A model client, and what draws the SDK's own spans.
    also: ['@ai-sdk/openai-compatible@3.0.92', '@ai-sdk/otel@1.0.173', '@opentelemetry/sdk-trace-base@2.12.0', ZOD],
    node: NODE_VERSION,
  },
  openclaw: {
    name: 'openclaw',
    version: '2026.9.6',
    node: NODE_VERSION,
    script: 'node_modules/openclaw/openclaw.mjs',
  },
  codex: {
    name: '@openai/codex',
    version: '0.169.0',
    program: 'node_modules/.bin/codex',
  },
  copilot: {
    name: '@github/copilot',
    version: '1.0.102',
    // The program itself. Those for other processors would come along as optional dependencies.
    also: [`@github/copilot-${PLATFORM}@1.0.102`],
    omitsOptional: true,
    program: `node_modules/@github/copilot-${PLATFORM}/copilot`,
  },
  hermes: {
    name: 'hermes-agent',
    version: '0.19.0',
    requirements: 'hermes-requirements.txt',
    program: 'venv/bin/hermes',
    prints: 'v0.19.0',
  },
  locus: {
    name: 'locus-sdk',
    version: '3.0.1',
    requirements: 'locus-requirements.txt',
    program: 'venv/bin/locus',
  },
}
