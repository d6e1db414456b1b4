// Opens the portal with the link in the address. The token stands behind the #, which browsers send to no server; it
// leaves the address, and with it the history, before it is sent.
(() => {
  'use strict';

  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, '', location.pathname);
  document.getElementById('say').textContent = 'Opening …';
  const form = document.getElementById('open');
  form.elements.token.value = token;
  form.submit();
})();
