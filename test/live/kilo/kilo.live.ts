/** Kilo CLI is a fork of opencode: it takes opencode's plugin as it is. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startModelServer } from '../../support/model-server.mjs'
import { hookspanFolder, hostCommand, hostNode, runHost, scratchHome, scratchProject, tracesOf } from '../live-host.ts'

const MODEL = 'fake/fake-1'
const TIMEOUT_MILLIS = 150_000
const QUIET = { KILO_DISABLE_AUTOUPDATE: '1', KILO_DISABLE_MODELS_FETCH: '1', KILO_DISABLE_LSP_DOWNLOAD: '1' }

test('traces two tools at once, of which one fails, after hookspan init kilo', async () => {
  const model = await startModelServer(({ tools, toolResults }) => {
    if (tools.length === 0) return { text: 'A title' }
    if (toolResults > 0) return { text: 'Done.' }
    return {
      toolCalls: [
        { name: 'read', arguments: { filePath: 'missing.txt' } },
        { name: 'bash', arguments: { command: 'cat notes.txt', description: 'read the notes' } },
      ],
    }
  })
  onTestFinished(() => model.close())
  const home = scratchHome()
  const config = join(home, '.config', 'kilo')
  mkdirSync(join(config, 'node_modules'), { recursive: true })
  // Kilo installs its plugin package into this folder, from the network, unless it looks as if it had.
  const packages = { '': { dependencies: { '@kilocode/plugin': '*', '@opencode-ai/plugin': '*' } } }
  writeFileSync(join(config, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  const fake = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${model.url}/v1`, apiKey: 'dummy' },
    models: { 'fake-1': { name: 'Fake', tool_call: true, limit: { context: 128_000, output: 4096 } } },
  }
  const settings = { model: MODEL, small_model: MODEL, share: 'disabled', provider: { fake } }
  const project = scratchProject(home, { files: { 'kilo.json': settings, 'notes.txt': 'a note\n' } })
  const init = [join(hookspanFolder(), 'dist', 'cli', 'main.js'), 'init', 'kilo']
  expect((await runHost(hostNode(), init, { home, cwd: project })).stdout).toContain('Kilo loads it')

  const [program = '', ...args] = hostCommand()
  const options = { home, cwd: project, env: QUIET, timeoutMillis: TIMEOUT_MILLIS }
  const ended = await runHost(program, [...args, 'run', '--model', MODEL, 'look at both'], options)
  expect(ended.code).toBe(0)
  // Kilo asks for a title in some runs, and may leave before the answer.
  const { trees } = await tracesOf(home)
  expect(trees.find(tree => tree.startsWith('agent'))).toMatchInlineSnapshot(`
    "agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=274, hermes.turn.exit_reason=stop]
      llm.fake-1 OK
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=tool-calls]
          tool.read ERROR tool_error [hermes.tool.outcome=error]
          tool.bash OK [hermes.tool.outcome=completed]
        api.fake-1 OK [gen_ai.usage.input_tokens=120, gen_ai.usage.cache_read.input_tokens=20, gen_ai.usage.output_tokens=17, gen_ai.usage.reasoning.output_tokens=3, gen_ai.response.finish_reason=stop]"
  `)
})
