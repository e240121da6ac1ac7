/**
 * Checks the legibility of a page.
 */

/**
 * Finds text that is clipped without an ellipsis, overlapping text, names that leave their card on the map, a note under the map's
 * tools, and pages wider than their window.
 * @param {import('@playwright/test').Page} page
 */
export const illegible = (page) =>
	page.evaluate(() => {
		const wide = document.documentElement.scrollWidth > window.innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
		/** Whether a text is clipped by an ancestor without an ellipsis. Ancestors of at most 2 px are for screen readers only. @param {DOMRect} box @param {Element | null} element */
		function isCut({ left, right }, element) {
			for (; element && element !== document.body && !element.closest('svg'); element = element.parentElement) {
				const { overflowX, textOverflow } = getComputedStyle(element);
				const frame = element.getBoundingClientRect();
				if (!['hidden', 'clip'].includes(overflowX) || textOverflow === 'ellipsis') continue;
				if (frame.width <= 2) return false;
				if (right > frame.right + 2 || left < frame.left - 2) return true;
			}
			return false;
		}
		/** The part of a box that its ancestors do not clip. @param {DOMRect} box @param {Element | null} element */
		function clipped({ left, top, right, bottom }, element) {
			for (; element && element !== document.body; element = element.parentElement) {
				const { overflowX, position } = getComputedStyle(element);
				if (overflowX !== 'visible') {
					const frame = element.getBoundingClientRect();
					[left, top, right, bottom] = [Math.max(left, frame.left), Math.max(top, frame.top), Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
				}
				if (position === 'fixed') break;
			}
			return { left, top, right, bottom };
		}
		/** The positioned ancestor, which covers other content by design. @param {Element | null} element */
		function layer(element) {
			for (; element && element !== document.body; element = element.parentElement) {
				if (['sticky', 'fixed', 'absolute'].includes(getComputedStyle(element).position)) return element;
			}
			return document.body;
		}
		const root = document.querySelector('dialog[open]') ?? document.body;
		const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
		const [boxes, cut] = [[], []];
		for (let text = texts.nextNode(); text; text = texts.nextNode()) {
			const element = text.parentElement;
			if (!text.data.trim() || !element?.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
			const range = document.createRange();
			range.selectNodeContents(text);
			for (const rect of range.getClientRects()) {
				if (isCut(rect, element)) cut.push(`cut off: ${text.data.trim().slice(0, 60)}`);
				const box = clipped(rect, element);
				if (box.right - box.left > 2 && box.bottom - box.top > 2) boxes.push({ ...box, layer: layer(element), said: text.data.trim().slice(0, 40) });
			}
		}
		boxes.sort((a, b) => a.top - b.top);
		const overlaps = [];
		for (const [i, a] of boxes.entries()) {
			for (const b of boxes.slice(i + 1)) {
				if (b.top >= a.bottom) break;
				// With a small line height the line boxes overlap although the letters do not.
				const [across, down] = [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - b.top];
				if (a.layer === b.layer && across > 2 && down > 4) overlaps.push(`on each other: ${a.said} | ${b.said}`);
			}
		}
		const beside = [...document.querySelectorAll('.node text')].filter((text) => {
			if (!text.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
			const [box, card] = [text, text.closest('.node')?.querySelector('.node-card')].map((it) => it?.getBoundingClientRect());
			return !card || box.left < card.left || box.right > card.right || box.top < card.top - 1 || box.bottom > card.bottom + 1;
		});
		const [note, tools] = ['.graph-note', '.graph-tools'].map((it) => document.querySelector(it)?.getBoundingClientRect());
		const covered = note && tools?.width && note.right > tools.left && note.bottom > tools.top ? ['the tools of the map lie on its note'] : [];
		return [...wide, ...cut, ...overlaps, ...covered, ...beside.map((text) => `out of its card: ${text.textContent}`)];
	});
