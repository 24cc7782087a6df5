import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type ModelToolCall, startModelServer } from '../support/model-server.mjs'
import { hostNode, runHost, scratchHome, scratchProject, tracesOf } from './live-host.ts'

/**
 * Runs `agent.mjs` of a folder of `examples/` as its user does, against a model that requests one tool and then answers.
 *
 * @returns the names of its spans, sorted
 */
export async function runExample(example: string, call: ModelToolCall): Promise<string[]> {
  const program = readFileSync(new URL(`../../examples/${example}/agent.mjs`, import.meta.url), 'utf8')
  const server = await startModelServer(({ toolResults }) =>
    toolResults > 0 ? { text: 'It is sunny.' } : { toolCalls: [call] },
  )
  try {
    const home = scratchHome()
    const cwd = scratchProject(home, { files: { 'agent.mjs': program }, withHost: true })
    const env = {
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: 'dummy',
      MODEL: 'fake-1',
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'dummy',
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }
    const { code, stdout, stderr } = await runHost(hostNode(), ['agent.mjs'], { home, cwd, env })
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is sunny.\n' })
    const { spans } = await tracesOf(home)
    return spans.map(({ name }) => name).sort()
  } finally {
    await server.close()
  }
}
