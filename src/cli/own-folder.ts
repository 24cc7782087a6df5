/** The folder of this copy of the package. What is published is bundled into `dist/chunks`, which is as deep as this file in `src`. */
export const PACKAGE_FOLDER: URL = new URL('../../', import.meta.url)
