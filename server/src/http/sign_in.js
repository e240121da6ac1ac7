// Exchanges the token behind the # for a cookie. The token leaves the address before anything else happens, so that it
// stays in no history; the page is then what the address without it shows.
const token = new URLSearchParams(location.hash.slice(1)).get("k");
if (token) {
  const show = (id, shown) => document.getElementById(id)?.toggleAttribute("hidden", !shown);
  history.replaceState(null, "", location.pathname + location.search);
  show("working", true);
  show("explain", false);
  let signedIn = false;
  try {
    const answer = await fetch("/api/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    signedIn = answer.ok;
  } catch {
    // The server cannot be reached; the page says what to do either way.
  }
  if (signedIn) {
    location.reload();
  } else {
    show("working", false);
    show("failed", true);
    show("explain", true);
  }
}
