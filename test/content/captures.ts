import { Capture, type CaptureSettings } from '../../src/content/capture-policy.ts'
import { createRedactor } from '../../src/content/redaction.ts'
import type { CapturedContent } from '../../src/content/safe-text.ts'

const redact = createRedactor({ enabled: true, patterns: [] })

export function captureWith(settings: Partial<CaptureSettings> = {}): Capture {
  return new Capture({
    mode: 'preview',
    previewMaxChars: 1200,
    contentMaxChars: 65_536,
    conversationHistory: false,
    senderId: false,
    redact,
    ...settings,
  })
}

export function previewOf(value: unknown, cap: number): CapturedContent | undefined {
  return captureWith({ previewMaxChars: cap }).content(value, 'tool_input')
}

export function fullOf(value: unknown, cap: number): CapturedContent | undefined {
  return captureWith({ mode: 'full', contentMaxChars: cap }).content(value, 'tool_input')
}
