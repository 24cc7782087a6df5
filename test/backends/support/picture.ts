import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page, PageScreenshotOptions } from 'playwright-core'
import { expect } from 'vitest'

const LARGEST_BYTES = 150_000

/** Whether the pictures of the documentation are to be taken anew. */
export const takesPictures: boolean = process.env['HOOKSPAN_UPDATE_PICTURES'] === '1'

/**
 * Writes what a page shows to `docs/images/<name>.png`, when pictures are asked for. Else it only looks whether it could.
 *
 * @param options which part of the page; default what is in the window
 */
export async function takePicture(page: Page, name: string, options: PageScreenshotOptions = {}): Promise<void> {
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide', ...options })
  // Readers load them with the page.
  expect(png.length).toBeLessThan(LARGEST_BYTES)
  if (!takesPictures) return
  const path = fileURLToPath(new URL(`../../../docs/images/${name}.png`, import.meta.url))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, png)
}
