import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Program } from '../../cli/program.ts'
import { eventually } from '../support/eventually.ts'
import { type FedSpan, spansOfFiles } from '../workload/fed-span.ts'
import { treeSpan, treeText } from '../workload/feed.ts'
import { Scene } from './scene.ts'

let scene: Scene
let program: Program

beforeAll(async () => {
  program = new Program()
  scene = await Scene.start({ usualPorts: 'on its own address' })
})

afterAll(async () => {
  program?.remove()
  await scene?.stop()
})

describe('hookspan doctor', () => {
  test('delivers its span and reads it back', async () => {
    const { code, stdout, stderr } = await program.run(['doctor', '--backend', `jaeger=${scene.jaeger.otlpUrl}`])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/ {2}ok {4}jaeger .*: delivered and read back in /)
    expect(stdout).toContain('No problems found')
    const services = await scene.query.services()
    const spans = await Promise.all(services.map(service => scene.query.spans(service)))
    expect(spans.flat().map(({ name }) => name)).toEqual(['hookspan.doctor'])
  })

  test('reports it as JSON', async () => {
    const args = ['doctor', '--json', '--backend', `jaeger=${scene.jaeger.otlpUrl}`]
    const { code, stdout } = await program.run(args)
    expect(code).toBe(0)
    expect(JSON.parse(stdout).backends).toMatchObject([
      { type: 'jaeger', delivered: true, readBack: true, problem: null },
    ])
  })

  test('fails at an address where nothing is, and names it', async () => {
    const wrong = `${scene.jaeger.url}/v1/traces`
    const { code, stdout } = await program.run(['doctor', '--backend', `jaeger=${wrong}`])
    expect(code).toBe(1)
    expect(stdout).toMatch(/ {2}fail {2}jaeger: /)
    expect(stdout).toContain(wrong)
  })
})

describe('hookspan demo', () => {
  test('sends everything that it has drawn, and the link that it prints is that of the last trace', async () => {
    const { code, stdout, stderr } = await program.run(['demo', '--backend', `jaeger=${scene.jaeger.otlpUrl}`])
    expect(code, stderr).toBe(0)
    const [, count = '', link = ''] = /jaeger got (\d+) spans; the last trace: (\S+)/.exec(stderr) ?? []
    const [, log = ''] = /Stored in (\S+\.jsonl)/.exec(stdout) ?? []
    const drawn = spansOfFiles([log])
    expect(Number(count)).toBe(drawn.length)
    const answered = await eventually(
      () => scene.query.spans('hookspan-demo', { raw: true }),
      spans => spans.length >= drawn.length,
    )
    const text = (spans: readonly FedSpan[]): string => treeText(spans.map(treeSpan), { durations: true })
    expect(text(answered)).toBe(text(drawn))
    expect(link).toMatch(new RegExp(`^${scene.jaeger.url}/trace/[0-9a-f]{32}$`))
    const last = await scene.query.trace(link.slice(-32))
    expect(last.length).toBeGreaterThan(0)
  })
})
