import { expect, test } from 'vitest'
import { shapeOf } from './drawn-shape.ts'

const DRAWN = `
● my-agent · s1 · turn 1                                                     2026-11-22 17:47:26 UTC
  completed · 29 ms · 2 spans · qwen3-coder-30b

  agent                       ────────────────────────────────────────  29 ms  120 → 17  completed
  └─ tool.terminal  ls                        ╺━━━━━━━━━━━━━━━━━━━━╸     1.5 s           completed
     └─ approval.rm                            ╺╍╍╍╍╸                   15 ms            once
`

test('keeps what every run draws, and nothing that depends on the clock', () => {
  expect(shapeOf(DRAWN)).toBe(
    ['  agent 120 → 17 completed', '  └─ tool.terminal  ls completed', '     └─ approval.rm once'].join('\n'),
  )
})

test('distinguishes it from another tree', () => {
  expect(shapeOf(DRAWN.replace('tool.terminal', 'tool.read'))).not.toBe(shapeOf(DRAWN))
  expect(shapeOf(DRAWN.replace('once', 'deny'))).not.toBe(shapeOf(DRAWN))
  expect(shapeOf(DRAWN.replace('     └─ approval', '  └─ approval'))).not.toBe(shapeOf(DRAWN))
})
