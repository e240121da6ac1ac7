// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system decides.
try {
	const theme = localStorage.getItem("theme");
	if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
	// Without storage in the browser there is no stored choice.
}
